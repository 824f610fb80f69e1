// SPDX-License-Identifier: Apache-2.0
// The page: its profile, and the one to compare it with, or null.

const jsonOf = (id) => JSON.parse(document.getElementById(id).textContent);

openViewer(document.getElementById("viewer"), jsonOf("data"), jsonOf("other"));
// A task after the next frame comes when that has been painted.
requestAnimationFrame(() => setTimeout(() => performance.mark("gpc-drawn")));
