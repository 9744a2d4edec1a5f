/** The view Plugins in a real browser. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { plugins } from "@svc/sdk/plugins";
import { makeInstallable } from "../../conformance/installable.ts";
import { without } from "../../programs.ts";
import { openPanel } from "./browser-scene.ts";
import { openWith } from "./fewer-rights.ts";
import { fitsWidth } from "./layout.ts";

it("finds a plugin, shows what it contributes, switches and reloads it", { skip: without("chromium") }, async (t) => {
  const { client, open } = await openPanel(t);
  const page = await open("/extensions");
  await page.reload(); // the address stays good
  await page.getByRole("searchbox").fill("talk");
  await page.getByRole("link", { name: "talk", exact: true }).click();
  const panel = page.getByRole("complementary", { name: "talk" });
  await panel.getByText("@svc/plugin-talk").waitFor();
  await panel.getByRole("tab", { name: "Contributes" }).click();
  await panel.getByText("talk.config", { exact: true }).waitFor();
  await panel.getByRole("tab", { name: "Permissions" }).click();
  await panel.getByText("It is part of the gateway").waitFor();
  await panel.getByRole("tab", { name: "Log", exact: true }).click();
  await panel.getByText("No recent log line").waitFor();

  await panel.getByRole("button", { name: "Reload" }).click();
  await page.getByText(/talk is reloaded/).waitFor();
  await panel.getByRole("button", { name: "Disable" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
  await panel.getByRole("button", { name: "Enable" }).click();
  const stateNow = async () => (await client.call(plugins.list, {})).plugins.find(({ id }) => id === "talk")?.state;
  assert.equal(await stateNow(), "disabled");
  await page.getByRole("dialog").getByRole("button", { name: "Enable" }).click();
  await panel.getByRole("button", { name: "Disable" }).waitFor();
  assert.equal(await stateNow(), "active");
  assert.equal(await panel.getByRole("button", { name: "Remove" }).count(), 0, "a part of the gateway stays");
});

it(
  "installs a plugin only after people saw what it may do, and removes it",
  { skip: without("chromium") },
  async (t) => {
    const { client, open, stateDir } = await openPanel(t);
    const guest = makeInstallable();
    const isThere = async () => (await client.call(plugins.list, {})).plugins.some(({ id }) => id === guest.id);
    const page = await open("/extensions");
    const dialog = page.getByRole("dialog");
    const ask = async (spec: string) => {
      await page.getByRole("button", { name: "Install" }).click();
      await dialog.getByRole("textbox").fill(spec);
      await dialog.getByRole("button", { name: "Fetch and check" }).click();
    };
    const broken = join(stateDir, "broken.tgz");
    await writeFile(broken, "no archive");
    await ask(broken);
    await dialog.getByRole("alert").waitFor();
    assert.equal(await dialog.getByRole("textbox").inputValue(), broken, "the text stays, to be corrected");
    await dialog.getByRole("button", { name: "Cancel" }).click();

    await ask(guest.path);
    await dialog.getByText(`${guest.id} requests:`).waitFor();
    assert.ok((await dialog.getByRole("listitem").count()) > 0);
    assert.equal(await isThere(), false);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    assert.equal(await isThere(), false, "nothing happens without an agreement");

    await ask(guest.path);
    await dialog.getByRole("button", { name: "Agree and install" }).click();
    await dialog.getByText(/is installed/).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    const panel = page.getByRole("complementary", { name: guest.id });
    await panel.getByRole("button", { name: "Remove" }).click();
    assert.equal(await isThere(), true);
    await dialog.getByRole("button", { name: "Remove" }).click();
    await panel.waitFor({ state: "detached" });
    assert.equal(await isThere(), false);

    await page.getByRole("button", { name: "Check" }).click();
    await dialog.getByText("No problem found").waitFor();
  },
);

it(
  "shows why a plugin does not run, fits a phone, and hides changes from readers",
  { skip: without("chromium") },
  async (t) => {
    const scene = await openPanel(t, {
      async prepare(stateDir) {
        const path = join(stateDir, "<b>guest.mjs");
        await writeFile(path, "export default 1;");
        await writeFile(join(stateDir, "svc.json"), JSON.stringify({ plugins: { load: { paths: [path] } } }));
      },
    });
    const page = await scene.open("/extensions", { isPhone: true, theme: "dark" });
    await page.getByRole("combobox", { name: "Show" }).selectOption("problems");
    await page.getByRole("link", { name: /guest/ }).click();
    await page
      .getByRole("complementary")
      .getByText(/<b>guest.mjs does not export a plugin/)
      .first()
      .waitFor();
    await fitsWidth(page);

    const reader = await openWith(scene, "/extensions?id=health", ["operator.read"]);
    await reader.getByRole("complementary", { name: "health" }).getByText("@svc/plugin-health").waitFor();
    assert.equal(await reader.getByRole("button", { name: /Install|Check|Disable|Reload/ }).count(), 0);
  },
);
