// Everything that is known about one case, in a dialog.

/** Joins the texts that are known into one. */
function joined(texts) {
  return texts.filter((it) => it !== null).join(", ") || null;
}

function openDetails(at) {
  const dialog = byId("details");
  const number = value("circumstances", at);
  const facts = [
    ["outcome", text("status", at)],
    ["reason", text("reason", at)],
    ["time", value("time_text", at)],
    ["speed-up", value("speedup_text", at)],
    ["as called", value("called_text", at)],
    ["verdict", text("verdict", at)],
    ["over", text("against", at)],
    ["no speed-up", text("no_speedup", at)],
    ["memory at the peak", text("peak_text", at)],
    ["of that", text("memory_text", at)],
    ["against the baseline", text("peak_change", at)],
    ["energy of a step", joined([text("energy_text", at), text("watts_text", at)])],
    ["GPU in use", text("use_text", at)],
    ["SQNR", text("sqnr_text", at) === null ? null : `${text("sqnr_text", at)} dB`],
    ["roofline", placeInWords(at)],
    ["single calls", spreadInWords("calls", at)],
    ["samples", spreadInWords("samples", at)],
    ["kernels", text("kernels", at)],
    ["ended", text("ended", at)],
    ["run", text("run", at)],
    ["machine", text("machine", at)],
    [
      "circumstances",
      number === null || document.querySelectorAll(".circumstances").length < 2
        ? null
        : `number ${number + 1}`,
    ],
    ["run was", value("earlier", at) === null ? null : "earlier than the latest of its suite"],
  ].filter(([, said]) => said !== null);
  const own = cautions(at);
  const close = element(
    "button",
    { type: "button", class: "quiet", on: { click: () => dialog.close() } },
    "Close",
  );
  dialog.replaceChildren(
    element("h2", { id: "details-title" }, fullId(at)),
    own.length === 0
      ? ""
      : element(
          "ul",
          { class: "notices" },
          own.map((said) => element("li", { class: "warn" }, element("span", {}, said))),
        ),
    explanationOf(at),
    element(
      "dl",
      {},
      facts.map(([label, said]) => [element("dt", {}, label), element("dd", {}, said)]),
    ),
    profileOf(at),
    rooflineOf(at),
    close,
  );
  dialog.showModal();
  // From the beginning, however small the screen.
  close.focus({ preventScroll: true });
  dialog.scrollTop = 0;
}
