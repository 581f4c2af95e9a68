// Light, dark, or as the system is; remembered where the browser remembers anything for a file.

const THEMES = ["system", "light", "dark"];
const KEY = "criterion-report-theme";

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // The browser keeps nothing for this page, which then starts as the system is.
  }
}

function remember(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Without storage, the choice lasts as long as the page.
  }
}

function setTheme(theme) {
  const own = THEMES.includes(theme) ? theme : THEMES[0];
  document.documentElement.dataset.theme = own;
  byId("theme").textContent = `Theme: ${own}`;
}

function buildTheme() {
  setTheme(remembered());
  byId("theme").addEventListener("click", () => {
    const next =
      THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length];
    setTheme(next);
    remember(next);
  });
}
