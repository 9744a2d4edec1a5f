/** Starts the panel. Nothing runs before the secrets of a link have left the address. */
import { render } from "lit";
import { BASE, takeLinkSecrets } from "./core/address.ts";
import { createApp } from "./core/app.ts";
import { createConnection } from "./core/connection.ts";
import { useLanguage } from "./core/text.ts";
import { copyOnClick } from "./parts/markdown.ts";
import { createShell } from "./shell/shell.ts";
import { useTheme } from "./shell/theme.ts";
import { DEFAULT_VIEW } from "./views/index.ts";
import "./style.css";

const connection = createConnection(takeLinkSecrets());
useTheme();
const place = document.querySelector<HTMLElement>("#panel");
if (!place) throw new Error("index.html has no place for the panel");

const app = createApp(connection, () => render(shell.render(), place), DEFAULT_VIEW);
const shell = createShell(app);
connection.start();
void useLanguage().then(app.redraw);
window.addEventListener("popstate", () => app.arrived());
copyOnClick(document);
registerOfflinePage();

/** The service worker only shows a page that explains itself while the gateway is away; it keeps no other file. */
function registerOfflinePage(): void {
  if (!("serviceWorker" in navigator)) return;
  const address = new URL("sw.js", BASE).href;
  const policy = trustedTypes?.createPolicy("svc", { createScriptURL: (url) => (url === address ? url : "") });
  navigator.serviceWorker
    .register((policy?.createScriptURL(address) ?? address) as string, { scope: BASE.pathname })
    .catch(() => undefined); // e.g. a private window: the panel works without
}
