import numpy as np

from .track import Track


def random_track(seed, **k):
    n=300; t=np.arange(n)*2*np.pi/n
    r=40+4*np.sin(2*t+seed)+3*np.sin(3*t+2*seed)
    c=np.column_stack([r*np.cos(t),r*np.sin(t)])
    d=np.roll(c,-1,0)-np.roll(c,1,0); d/=np.hypot(*d.T)[:,None]; nn=np.column_stack([-d[:,1],d[:,0]])
    L=(c+2.5*nn)[::4]; R=(c-2.5*nn)[::4]
    w=np.concatenate([np.hstack([a,np.roll(a,-1,0)]) for a in (L,R)])
    return Track(c,np.full(n,2.5),np.full(n,2.5),True,w,None,f"random {seed}")
