"""What `from vlmeval.smp import *` brings along beside the framework's own names; older classes count on it."""

import copy as cp
import json
import logging
import os
import os.path as osp
import re
import string
import time
import warnings
from collections import defaultdict
from functools import partial

import numpy as np
import pandas as pd
from PIL import Image

get_logger = logging.getLogger

__all__ = [
    "Image",
    "cp",
    "defaultdict",
    "get_logger",
    "json",
    "np",
    "os",
    "osp",
    "partial",
    "pd",
    "re",
    "string",
    "time",
    "warnings",
]
