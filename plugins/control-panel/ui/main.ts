/** Starts the panel. Nothing runs before the secrets of a link have left the address. */
import { render } from "lit";
import { BASE, takeLinkSecrets } from "./core/address.ts";
import { createApp } from "./core/app.ts";
import { createConnection } from "./core/connection.ts";
import { useLanguage } from "./core/text.ts";
import { detailsOf } from "./parts/failure.ts";
import { followLinks } from "./parts/links.ts";
import { copyOnClick } from "./parts/markdown.ts";
import { toast } from "./parts/toast.ts";
import { createShell } from "./shell/shell.ts";
import { useTheme } from "./shell/theme.ts";
import { forgetSeen } from "./views/chat/seen.ts";
import { DEFAULT_VIEW } from "./views/index.ts";
import "./style.css";

const connection = createConnection(takeLinkSecrets(), forgetWork);
useTheme();
const place = document.querySelector<HTMLElement>("#panel");
if (!place) throw new Error("index.html has no place for the panel");

const app = createApp(connection, () => render(shell.render(), place), DEFAULT_VIEW);
const shell = createShell(app);
connection.start();
void useLanguage().then(app.redraw);
window.addEventListener("popstate", () => app.arrived());
followLinks(() => app.arrived());
// A link that people open in a tab of the panel changes only the fragment, so the page is not loaded again.
window.addEventListener("hashchange", () => {
  const link = takeLinkSecrets();
  if (link.invite ?? link.secret ?? link.gateway) connection.follow(link);
});
// Views show their failures themselves; this is for one that nobody expected.
window.addEventListener("unhandledrejection", ({ reason }) => {
  if (connection.state.kind === "connected") toast(detailsOf(reason).message, "bad");
});
let isSignedOut = false;
// Unsaved work goes with a sign-out, too. This listener is the first one, so no view asks whether people want to stay.
window.addEventListener("beforeunload", (event) => isSignedOut && event.stopImmediatePropagation());
copyOnClick();
registerOfflinePage();

/** After a sign-out: the tab keeps nothing of what people did, neither in its storage nor in its memory. */
function forgetWork(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith("svc-panel.")) sessionStorage.removeItem(key);
  forgetSeen();
  isSignedOut = true;
  location.replace(BASE.href);
}

/** The service worker only shows a page that explains itself while the gateway is away; it keeps no other file. */
function registerOfflinePage(): void {
  if (!("serviceWorker" in navigator)) return;
  const address = new URL("sw.js", BASE).href;
  const policy = trustedTypes?.createPolicy("svc", { createScriptURL: (url) => (url === address ? url : "") });
  navigator.serviceWorker
    .register((policy?.createScriptURL(address) ?? address) as string, { scope: BASE.pathname })
    .catch(() => undefined); // e.g. a private window: the panel works without
}
