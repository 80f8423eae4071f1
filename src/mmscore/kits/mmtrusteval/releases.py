"""The releases that MMTrustEval's numbers are distinguished by: they differ in their refusal phrases."""

from collections.abc import Mapping

from mmscore.parsers.mmtrust_refusal import LATEST, V0_2_1

KIT = "MMTrustEval"

VERSIONS: Mapping[str, str] = {
    LATEST: "thu-ml/MMTrustEval@a067801 (2025-03-26)",
    V0_2_1: "thu-ml/MMTrustEval v0.2.1 and before: 53 refusal phrases, some of them two in one",
}
