"""Magic Formula 5.2, 6.1 and 6.2: records with the keys of tyre property files, and equations.

Equations of MF 6 are those of Pacejka, Tire and Vehicle Dynamics, 3rd ed., chapter 4.3.2 (numbers
4.E…), as the usual solvers compute them; where the book and the solvers differ, the solvers are
followed.
"""
