"""The method of Ren et al. (2020), each equation in the file that carries its name.

attention        Eq. 1, conditional and global reliability
pseudo_labels    Eq. 2, the weighted vote that supervises both networks
denoiser         Eq. 3, the denoiser's own prediction, and its gradient
classifier       Eq. 4, the neural classifier, and its gradient
losses           Eqs. 5 to 8
temporal_ensemble   the target of self-training
cotraining       Algorithm 1, and Adam
inference        both heads' answers made one

Its hyper-parameters are `unruly.settings.PaperSettings`.
"""
