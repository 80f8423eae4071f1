"""The releases of EvalScope whose behaviour is known, one for each stretch without a break.

1.3.0 stands for 1.3 to 1.4, 1.10.0 for 1.7 to 1.10, 1.14.1 for 1.14. Source: modelscope/evalscope,
wheels 1.3.0, 1.10.0 and 1.14.1.
"""

from typing import Literal

Release = Literal["1.3.0", "1.10.0", "1.14.1"]
LATEST: Release = "1.14.1"
