// Shows the chosen drive in the frame. The replay page is there once; films are put into it.
(function () {
  "use strict";
  const choice = document.getElementById("replay-drive");
  let frame = document.getElementById("replay-frame");
  const coded = document.getElementById("replay-page").textContent;
  const bytes = Uint8Array.from(atob(coded), (c) => c.charCodeAt(0));
  const page = new TextDecoder().decode(bytes);

  function show() {
    const film = document.getElementById("film-" + choice.value).textContent;
    // A frame that is still loading a film may end up with that one: take a new frame.
    const fresh = frame.cloneNode(false);
    fresh.srcdoc = page.replace('id="film"><', () => 'id="film">' + film + "<");
    frame.replaceWith(fresh);
    frame = fresh;
  }

  choice.addEventListener("change", show);
  for (const link of document.querySelectorAll("a[data-film]"))
    link.addEventListener("click", () => { choice.value = link.dataset.film; show(); });
  // Nothing plays before somebody can see it.
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    if (!frame.srcdoc) show();
  });
  seen.observe(frame);
})();
