// The choice of versions in the bar, from the list beside their folders. Where the list cannot be
// read, as from a disk, there is no choice.
"use strict";

async function fillVersions(select) {
  const site = new URL(select.dataset.root + "../", location.href);
  const reply = await fetch(new URL("versions.json", site));
  if (!reply.ok) return;
  const versions = await reply.json();
  const here = select.dataset.version;
  if (!versions.some((one) => one.folder === here)) versions.push({ folder: here, name: here });
  for (const one of versions) {
    select.add(new Option(one.name, one.folder, false, one.folder === here));
  }
  select.addEventListener("change", async () => {
    const folder = new URL(`${select.value}/`, site);
    const page = new URL(select.dataset.page, folder);
    // A page that the other version does not have: its front page instead.
    const known = await fetch(page, { method: "HEAD" }).then((one) => one.ok, () => false);
    location.href = known ? page : folder;
  });
  select.hidden = false;
}

for (const select of document.querySelectorAll("select.versions")) {
  fillVersions(select).catch(() => {});
}
