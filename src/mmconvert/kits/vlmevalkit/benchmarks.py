"""Names of VLMEvalKit's benchmarks beside those whose rows `datasets` describes.

Source: open-compass/VLMEvalKit@e8e78f0 vlmeval/dataset, `supported_datasets` and `evaluate` of the classes.
"""

SHARED_RULES = frozenset(
    """
    AI2D_MINI BLINK_circular CMMU_MCQ CVQA_EN CVQA_LOC K-DTCBench LEGO LEGO_circular MedXpertQA_MM_test MicroBench
    MicroVQA MMCR MMMB MMMU_Pro_10c MMMU_Pro_V MMSIBench_circular MMStar_KO MMStar_MINI MMStar_TR MMVet_Hard
    MSEarthMCQ MTL_MMBench_DEV MUIRBench OCRBench_MINI OmniMedVQA PathMMU_TEST PathMMU_VAL R-Bench-Dis R-Bench-Ref
    SCAM SEEDBench_IMG_KO SpatialEval StaticEmbodiedBench StaticEmbodiedBench_circular VisOnlyQA-VLMEvalKit VStarBench
    WikiVQABench WorldMedQA-V
    """.split()
)
"""Benchmarks that the framework scores by the rule of another benchmark, or of a whole type."""

OWN_RULES = frozenset(
    """
    MMDU
    3DSRBench A4Bench APhO_2025 Asclepius atomic_dataset AV-SpeakerBench AyaVisionBench BabyVision BMMR BMMR_mini
    CCOCR CCOCR_DocParsing_DocPhotoChn CCOCR_DocParsing_DocPhotoEng CCOCR_DocParsing_DocScanChn
    CCOCR_DocParsing_DocScanEng CCOCR_DocParsing_FormulaHandwriting CCOCR_DocParsing_MolecularHandwriting
    CCOCR_DocParsing_TablePhotoChn CCOCR_DocParsing_TablePhotoEng CCOCR_DocParsing_TableScanChn
    CCOCR_DocParsing_TableScanEng CCOCR_Kie_ColdCell CCOCR_Kie_ColdSibr CCOCR_Kie_Cord CCOCR_Kie_EphoieScut
    CCOCR_Kie_Poie CCOCR_Kie_Sroie2019Word CCOCR_MultiLanOcr_Arabic CCOCR_MultiLanOcr_French CCOCR_MultiLanOcr_German
    CCOCR_MultiLanOcr_Italian CCOCR_MultiLanOcr_Japanese CCOCR_MultiLanOcr_Korean CCOCR_MultiLanOcr_Portuguese
    CCOCR_MultiLanOcr_Russian CCOCR_MultiLanOcr_Spanish CCOCR_MultiLanOcr_Vietnamese CCOCR_MultiSceneOcr_Cord
    CCOCR_MultiSceneOcr_Funsd CCOCR_MultiSceneOcr_Hieragent CCOCR_MultiSceneOcr_Iam CCOCR_MultiSceneOcr_Ic15
    CCOCR_MultiSceneOcr_Inversetext CCOCR_MultiSceneOcr_Totaltext CCOCR_MultiSceneOcr_UgcLaion
    CCOCR_MultiSceneOcr_ZhDense CCOCR_MultiSceneOcr_ZhDoc CCOCR_MultiSceneOcr_ZhHandwriting
    CCOCR_MultiSceneOcr_ZhScene CCOCR_MultiSceneOcr_ZhVertical CG-Bench_MCQ_Grounding CG-Bench_MCQ_Grounding_Mini
    CG-Bench_OpenEnded CG-Bench_OpenEnded_Mini CGAVCounting ChartBench ChartCap ChartMimic_v1_customized
    ChartMimic_v1_direct ChartMimic_v2_customized ChartMimic_v2_customized_1800 ChartMimic_v2_customized_600
    ChartMimic_v2_direct ChartMimic_v2_direct_1800 ChartMimic_v2_direct_600 ChartMuseum_dev ChartMuseum_test
    ChartQAPro ChartQAPro_CoT ChartQAPro_PoT ChartX CharXiv_descriptive_val CharXiv_reasoning_val CMMMU_VAL
    CoreCognition CountBenchQA Creation_MMBench CRPE_EXIST CRPE_RELATION CV-Bench-2D CV-Bench-3D DA-2K Design2Code
    Detailed_Difference DREAM-1K DSRBench DUDE DUDE_MINI DynaMath DynaMath_noprompt EgoExoBench_MCQ electro_dataset
    EmbSpatialBench EMMA EMMA_COT ERIQ ERQA EuPhO_2024 EuPhO_2025 F_MA_2024 F_MA_2025 Flames FoxBench
    GMAI-MMBench_TEST GMAI-MMBench_VAL GOBench GroundingME GSM8K-V HiPhO_ALL hle hle_verified HRBench4K HRBench8K
    Instance_Comparison IPhO_2024 IPhO_2025 LENS-CN-QA LENS-CN-QA_MINI LiveMMBench_Creation LiveMMBench_Infographic
    LiveMMBench_Perception LiveMMBench_Reasoning LiveMMBench_Reasoning_circular LiveMMBench_Spatial LLaVABench_KO
    LogicVista LongDocURL LongVideoBench M3oralBench M4Bench MaCBench MATBench MathCanvas-Bench MathVerse_MINI
    MathVerse_MINI_Text_Dominant MathVerse_MINI_Text_Lite MathVerse_MINI_Vision_Dominant
    MathVerse_MINI_Vision_Intensive MathVerse_MINI_Vision_Only MathVerse_MINI_Vision_Only_cot MathVision
    MathVision_MINI mechanics_dataset MedqbenchCaption MedqbenchCaption_dev MedqbenchCaption_test MedqbenchMCQ
    MedqbenchMCQ_dev MedqbenchMCQ_test MedqbenchPairedDescription_dev MedqbenchPairedDescription_test
    MedQDEGBench_good_dev MedQDEGBench_good_test MedQDEGBench_simulate_dev MedQDEGBench_simulate_test MEGABench
    MemLens_128K MemLens_256K MemLens_32K MemLens_64K MIA-Bench MindCubeBench_raw_qa MindCubeBench_tiny_raw_qa MLVU
    MLVU_MCQ MLVU_OpenEnded MM-HELIX MM-HELIX_lang MM-IFEval MM-Math MM_NIAH_TEST MM_NIAH_VAL MMAlignBench
    MMBench-Video MME-RealWorld MME-RealWorld-CN MME-RealWorld-Lite MME-Reasoning MME_CoT_TEST MMESCI_EN MMESCI_ES
    MMESCI_FR MMESCI_JA MMESCI_VisionOnly MMESCI_ZH MMGenBench-Domain MMGenBench-Test MMLongBench_128K
    MMLongBench_256K MMLongBench_32K MMLongBench_512K MMLongBench_DOC MMMU_Pro_10c_COT MMMU_Pro_V_COT
    MMOral_OPG_CLOSED MMOral_OPG_OPEN MMRarebench_Crossmodal MMRarebench_Diagnosis MMRarebench_Examination
    MMRarebench_Treatment MMReason_testmini MMSafetyBench MMSci_DEV_Captioning_image_only
    MMSci_DEV_Captioning_with_abs MMSci_DEV_MCQ MMSIBench_wo_circular MMSIVideo_SC MMSIVideo_U50 MMVMBench MOAT
    MovieChat1k MRareBench_Diagnosis MRareBench_Diagnosis_FD MRareBench_Diagnosis_TO MRareBench_EvidenceVerif
    MRareBench_EvidenceVerif_NoDx MRareBench_EvidenceVerif_TO MSSBench MTVQA_TEST MVBench MVBench_MP4 MVTamperBench
    MVTamperBenchEnd MVTamperBenchStart MVU-Eval NaturalBenchDataset NBPhO_2024 NBPhO_2025 npmm OceanOCRBench
    OCR_Reasoning OCRBench_v2 OCRBench_v2_MINI olmOCRBench OlympiadBench OlympiadBench_CN OlympiadBench_EN Omni3DBench
    OmniDocBench OmniEarth-Bench OmniMat_CAL OmniMat_QA OmniSpatialBench OmniSpatialBench_default
    OmniSpatialBench_manual_cot OmniSpatialBench_zeroshot_cot OMTGBench optics_dataset OST OSWorld_G PanMechanics_2024
    PanMechanics_2025 PanPhO_2024 PanPhO_2025 PathVQA_TEST PathVQA_VAL PerceptionBench Physics Physics_blankim PhyX_MC
    PhyX_mini_MC PhyX_mini_OE PhyX_OE PlotQA PuzzleVQA QBench_Video QBench_Video_MCQ QBench_Video_VQA QSpatial_plus
    QSpatial_scannet quantum_dataset ReasonMap-Plus RefCOCO RefSpatial RefSpatial-Bench RefSpatial-Bench-Location
    RefSpatial-Bench-Placement RefSpatial-Bench-Unseen RefSpatial-Location RefSpatial-Placement RefSpatial-Unseen
    RefSpatial_Location RefSpatial_Placement RefSpatial_Unseen RefSpatial_wo_unseen ReVSI RoboSpatialHome SArena
    SArena_MINI SciDocBench ScreenSpot ScreenSpot_Desktop ScreenSpot_Mobile ScreenSpot_Pro ScreenSpot_Pro_CAD
    ScreenSpot_Pro_Creative ScreenSpot_Pro_Development ScreenSpot_Pro_Office ScreenSpot_Pro_OS
    ScreenSpot_Pro_Scientific ScreenSpot_v2 ScreenSpot_v2_Desktop ScreenSpot_v2_Mobile ScreenSpot_v2_Web
    ScreenSpot_Web SeePhys SeePhys_vo SFE SFE-zh SGI-DeepResearch SGI-DryExperiment SGI-Experimental-Reasoning
    SGI-IdeaGeneration SGI-WetExperiment SimpleVQA SiteBenchImage SiteBenchVideo SIUO SIUO_GEN SIUO_MCQ SLIDEVQA
    SLIDEVQA_MINI SparBench SparBench_tiny Spatial-DISE Spatial-DISE_BENCH Spatial-DISE_BENCH_MERGE
    Spatial-DISE_BENCH_SEPARATE Spatial-DISE_MERGE Spatial-DISE_SEPARATE Spatial-DISE_TEST Spatial-DISE_TEST_MERGE
    Spatial-DISE_TEST_SEPARATE Spatial-DISE_TRAIN Spatial-DISE_TRAIN_MERGE Spatial-DISE_TRAIN_SEPARATE
    Spatial-DISE_VAL Spatial-DISE_VAL_MERGE Spatial-DISE_VAL_SEPARATE Spatial457 Spatial_Perception SpatialVizBench
    SpatialVizBench_CoT SPBench-MV SPBench-MV_CoT SPBench-SI SPBench-SI_CoT SSI_Bench StareBench StareBench_CoT
    State_Comparison State_Invariance statistics_dataset STI-Bench SUPERChem SUPERChem_text TableVQABench TallyQA
    tdbench_cs_depth tdbench_cs_height tdbench_cs_integrity tdbench_cs_zoom tdbench_grounding_rot0
    tdbench_grounding_rot180 tdbench_grounding_rot270 tdbench_grounding_rot90 tdbench_rot0 tdbench_rot180
    tdbench_rot270 tdbench_rot90 TempCompass TempCompass_Captioning TempCompass_MCQ TempCompass_YorN TopViewRS
    TreeBench UniSVG V2P-Bench VBGD VCR-Bench VDC VenusBench-GD VGRPBench Video-MME Video-MME-v2 Video-TT Video_Holmes
    Video_MMLU_CAP Video_MMLU_QA VideoMMMU ViewSpatialBench VisFactor VisFactor_CoT VisFactor_GE VisFactor_GE_CoT
    VisFactor_GH VisFactor_GH_CoT VisFactor_GN VisFactor_GN_CoT VisualPuzzles VisuLogic VL-RewardBench VLADBench
    VLM2Bench VLMBias VLMBlind vlms_are_biased_main VLRMBench VLRMBench_Foresight VLRMBench_MultiSolution VMCBench_DEV
    VMCBench_TEST VSI-Bench VSI-Bench-Debiased VsiSuperCount_10mins VsiSuperCount_120mins VsiSuperCount_30mins
    VsiSuperCount_60mins VsiSuperRecall_10mins VsiSuperRecall_120mins VsiSuperRecall_240mins VsiSuperRecall_30mins
    VsiSuperRecall_60mins VTCBench WeMath WeMath_COT WildDoc wildprobe_multiimg_reasoning WildVision WorldSense
    WorldVQA XLRS-Bench-lite XSTest ZEROBench ZEROBench_sub
    """.split()
)
"""Benchmarks that a class of the framework scores by a rule of its own, which no recipe reproduces.

The name may contain that of another benchmark (`MME-RealWorld`, `GMAI-MMBench_VAL`, `olmOCRBench`): its rule is not
this one's. A recipe that comes to reproduce such a rule takes the name out of here.
"""
