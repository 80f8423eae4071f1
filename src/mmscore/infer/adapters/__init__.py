"""One file a framework whose model classes are taken as they are."""
