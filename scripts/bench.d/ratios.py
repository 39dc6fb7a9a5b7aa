"""What pairs of runs say: the ratio of one program to another, with its interval."""

import math
import statistics

# Student's t, two-sided 95 %, by degrees of freedom from 1 on (tables; beyond 15 the last is wide enough).
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131]


def interval(ratios):
    """Geometric mean and its 95 % interval."""
    logarithms = [math.log(ratio) for ratio in ratios]
    middle = statistics.mean(logarithms)
    if len(logarithms) < 2:
        return math.exp(middle), float("nan"), float("nan")
    student = STUDENT[min(len(logarithms) - 2, len(STUDENT) - 1)]
    half = student * statistics.stdev(logarithms) / math.sqrt(len(logarithms))
    return math.exp(middle), math.exp(middle - half), math.exp(middle + half)
