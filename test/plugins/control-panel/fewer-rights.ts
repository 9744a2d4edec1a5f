/** A signed-in page whose token has fewer scopes than the panel wants. */
import { devices } from "@svc/sdk/devices";
import type { Page } from "playwright-core";
import type { PanelScene } from "./browser-scene.ts";

/** In the browser: `work` gets the store in which the panel keeps its key and token. */
const inStore = (work: string) => `new Promise((resolve, reject) => {
  const opened = indexedDB.open("svc-panel");
  opened.onerror = () => reject(opened.error);
  opened.onsuccess = () => {
    const store = opened.result.transaction("gateways", "readwrite").objectStore("gateways");
    store.getAll().onsuccess = ({ target: { result: [kept] } }) => {
      ${work}
      store.transaction.oncomplete = () => { opened.result.close(); resolve(kept.deviceId); };
    };
  };
})`;

/** @param scopes those that the browser holds from now on */
export async function openWith(
  { client, open, address }: PanelScene,
  path: string,
  scopes: readonly string[],
): Promise<Page> {
  const page = await open(path);
  // A page of the same origin without the panel, which would forget the token that ends. A service worker would load the panel.
  await page.evaluate("navigator.serviceWorker.ready.then((worker) => worker.unregister())");
  const body = '<link rel="icon" href="data:,">';
  await page.route(`${address}/nothing`, (route) => route.fulfill({ contentType: "text/html", body }));
  await page.goto(`${address}/nothing`);
  const deviceId = String(await page.evaluate(inStore("")));
  const { token } = await client.call(devices.rotate, { deviceId, role: "operator", scopes: [...scopes] });
  const held = JSON.stringify({ token, scopes });
  await page.evaluate(inStore(`store.put({ ...kept, ...${held} });`));
  await page.goto(`${address}${path}`);
  await page.locator("main#content").waitFor();
  return page;
}
