"""One learner: the shape of softplus by its sharpness, and the four shapes that signs and directions give."""

import matplotlib.pyplot as plt
import numpy as np

z = np.linspace(-2, 2, 401)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharex=True)
for beta, color in ((1, "#56B4E9"), (2, "#0072B2"), (5, "#D55E00"), (20, "#009E73")):
    left.plot(z, np.logaddexp(0, beta * z) / beta, color=color, label=f"beta = {beta}")
left.plot(z, np.maximum(z, 0), "k:", label="ReLU")
left.set(xlabel="z", ylabel="g(z)")
left.legend(frameon=False)

for sign, slope, color in ((1, 1, "#D55E00"), (1, -1, "#0072B2"), (-1, 1, "#009E73"), (-1, -1, "#CC79A7")):
    label = f"b = {sign:+d}, w = {slope:+d}"
    right.plot(z, sign * np.logaddexp(0, 5 * slope * z) / 5, color=color, label=label)
right.set(xlabel="x", ylabel="b g(w x)")
right.legend(frameon=False, loc="upper center", ncols=2, bbox_to_anchor=(0.5, 1.02))
right.set_ylim(-2.2, 3.2)
