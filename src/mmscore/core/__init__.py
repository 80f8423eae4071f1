"""Types that all of mmscore shares: recipe, judge, parsed answer, score table, report."""
