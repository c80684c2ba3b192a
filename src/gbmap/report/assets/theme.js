// Light or dark: the reader's system decides until the switch is used. Paper is light.
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const theme = { chosen: null, isPrinting: false, listeners: [] };

function isDark() {
  if (theme.isPrinting) return false;
  return theme.chosen === null ? prefersDark.matches : theme.chosen === "dark";
}

function applyTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  const button = $("theme");
  button.textContent = isDark() ? "Light" : "Dark";
  button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  theme.listeners.forEach((listener) => listener());
}

const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function startTheme() {
  $("theme").addEventListener("click", () => {
    theme.chosen = isDark() ? "light" : "dark";
    applyTheme();
  });
  prefersDark.addEventListener("change", applyTheme);
  const print = (isPrinting) => {
    theme.isPrinting = isPrinting;
    applyTheme();
  };
  matchMedia("print").addEventListener("change", (event) => print(event.matches));
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  applyTheme();
}
