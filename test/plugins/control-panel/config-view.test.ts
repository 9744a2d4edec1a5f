/** The view Configuration in a real browser. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { config } from "@svc/sdk/config";
import type { Page } from "playwright-core";
import { without } from "../../programs.ts";
import { openPanel, type PanelScene } from "./browser-scene.ts";

const skip = without("chromium");
const SECRET = "sk-local-7f3a9c2e51";
const FILE = `// The gateway of the workshop
{
  logging: { level: "info" }, // quiet
  gateway: { auth: { mode: "token" } },
  models: { providers: { local: { baseUrl: "http://127.0.0.1:9/v1", apiKey: "${SECRET}", models: [{ id: "alpha" }] } } },
  agents: { list: [
    { id: "main", name: "Main" },
    { id: "second", name: "<img src=x onerror=alert(1)>" },
    { id: "third" },
  ] },
}
`;

const prepare = (stateDir: string) => writeFile(join(stateDir, "svc.json"), FILE);

interface Written {
  readonly logging?: { readonly level?: string };
  readonly agents: { readonly list: readonly { readonly id: string }[] };
  readonly mcp?: unknown;
  readonly cron?: unknown;
}

async function parsed({ client }: PanelScene): Promise<Written> {
  return (await client.call(config.get, {})).parsed as Written;
}

const text = ({ stateDir }: PanelScene) => readFile(join(stateDir, "svc.json"), "utf8");

/** Changes the file as another person would. */
async function patchElsewhere({ client }: PanelScene, raw: string): Promise<void> {
  const { hash } = await client.call(config.get, {});
  await client.call(config.patch, { raw, baseHash: hash });
}

const field = (page: Page, path: string) => page.locator(`[data-path="${path}"]`);

async function open(page: Page, ...paths: string[]): Promise<void> {
  for (const path of paths) await field(page, path).locator("> summary").click();
}

/** Whether the place of the messages, which exists after the first one, ends above the bar. */
const IS_BAR_FREE = `
  document.querySelector(".toasts").getBoundingClientRect().bottom <=
  document.querySelector(".cfg-bar").getBoundingClientRect().top`;

async function apply(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Review" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
}

/** The bar with the unsaved changes goes after the write. */
const applied = (page: Page) => page.getByRole("region", { name: "Unsaved changes" }).waitFor({ state: "detached" });

it("finds a key, jumps to it, shows the difference and writes only that key", { skip }, async (t) => {
  const scene = await openPanel(t, { prepare });
  const page = await scene.open("/config");

  await page.getByRole("searchbox").fill("log level");
  await page.getByRole("searchbox").fill("logging.level");
  await page.getByRole("button", { name: /logging\.level/ }).click();
  const level = field(page, "logging.level").getByRole("combobox");
  await level.and(page.locator(":focus")).waitFor();
  await level.selectOption("warn");

  await page.getByRole("button", { name: "Review" }).click();
  const dialog = page.getByRole("dialog");
  assert.equal(await dialog.locator("del").textContent(), "info");
  assert.equal(await dialog.locator("ins").textContent(), "warn");
  await dialog.getByRole("button", { name: "Apply" }).click();
  await applied(page);
  assert.equal(await page.getByRole("button", { name: "Review" }).count(), 0, "nothing is left to write");

  const written = await text(scene);
  assert.match(written, /level: "warn" \}, \/\/ quiet/, "comments stay");
  assert.ok(written.includes(SECRET), "the secret stays");
  await field(page, "logging.level")
    .getByRole("button", { name: /^Reset/ })
    .click();
  await apply(page);
  await applied(page);
  assert.equal((await parsed(scene)).logging?.level, undefined, "a reset removes the key");
});

it("never shows a secret, replaces it, and refers to one", { skip }, async (t) => {
  const scene = await openPanel(t, { prepare });
  const page = await scene.open("/config?section=models");
  await open(page, "models.providers", "models.providers.local");
  const key = field(page, "models.providers.local.apiKey");
  await key.getByText("Set", { exact: true }).waitFor();
  assert.ok(!(await page.content()).includes(SECRET));

  await key.getByRole("button", { name: "Replace" }).click();
  await key.getByLabel("New value of").fill("sk-new-0123456789");
  await page.getByRole("button", { name: "Review" }).click();
  assert.ok(!(await page.getByRole("dialog").textContent())?.includes("sk-new"));
  await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
  await applied(page);
  assert.ok((await text(scene)).includes("sk-new-0123456789"));

  await key.getByRole("button", { name: "Use a reference" }).click();
  await key.getByLabel("Id at the provider").fill("LOCAL_KEY");
  await apply(page);
  await key.getByText("reference: env").waitFor();
  assert.match(await text(scene), /source: ['"]env['"],\s*id: ['"]LOCAL_KEY['"]/);
});

it("removes, moves and adds entries, whose names are only text", { skip }, async (t) => {
  const scene = await openPanel(t, { prepare });
  const page = await scene.open("/config?section=agents");
  const list = field(page, "agents.list");
  await list.getByText("third").waitFor();
  await list.getByRole("button", { name: "Remove List 1" }).click();
  await list.getByRole("button", { name: "Move List 2 up" }).click();
  await apply(page);
  await applied(page);
  const { agents } = await parsed(scene);
  assert.deepEqual(
    agents.list.map(({ id }) => id),
    ["third", "second"],
  );
  assert.equal(await page.locator("img").count(), 0);

  await page.getByRole("button", { name: "Mcp" }).click();
  await open(page, "mcp.servers");
  await page.getByLabel("New name in Servers").fill("files");
  await page.getByRole("button", { name: "Add to Servers" }).click();
  await field(page, "mcp.servers.files.command").getByRole("textbox").fill("files-server");
  const args = field(page, "mcp.servers.files.args");
  await args.getByRole("button", { name: "Add to Args" }).click();
  await args.getByRole("textbox", { name: "Args 1" }).fill("--read-only");
  await apply(page);
  await applied(page);
  assert.deepEqual((await parsed(scene)).mcp, {
    servers: { files: { command: "files-server", args: ["--read-only"] } },
  });
});

it("keeps an item of a list while people type another number", { skip }, async (t) => {
  const scene = await openPanel(t, { config: { cron: { retry: { backoffMs: [100, 200] } } } });
  const page = await scene.open("/config?section=cron");
  await open(page, "cron.retry");
  const first = field(page, "cron.retry.backoffMs[0]").getByRole("textbox");
  await first.fill("");
  await field(page, "cron.retry.backoffMs[0]").getByText("This is not a number").waitFor();
  await first.fill("50");
  await apply(page);
  await applied(page);
  assert.deepEqual((await parsed(scene)).cron, { retry: { backoffMs: [50, 200] } });
});

it("shows problems at their fields, also those that only the gateway finds", { skip }, async (t) => {
  const scene = await openPanel(t, { prepare });
  const page = await scene.open("/config?section=gateway");
  const port = field(page, "gateway.port");
  await port.getByRole("textbox").fill("80x");
  await port.getByText("This is not a number").waitFor();
  assert.ok(await page.getByRole("button", { name: "Review" }).isDisabled(), "what cannot be read cannot be written");
  await port.getByRole("textbox").fill("70000");
  await port.getByText("The largest value is 65535").waitFor();

  await apply(page);
  const dialog = page.getByRole("dialog");
  await dialog.getByText("invalid config").waitFor();
  await dialog.getByRole("button", { name: "Back" }).click();
  await page.getByText("The gateway refuses the changes").waitFor();
  assert.equal(await port.getByRole("alert").count(), 2, "the gateway's problem stands at the field, too");
  assert.equal(await text(scene), FILE);
  await page.getByRole("button", { name: "Discard" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
  await page.getByRole("button", { name: "Discard" }).waitFor({ state: "detached" });
  assert.equal(await port.getByRole("textbox").inputValue(), "");
});

it(
  "puts changes on top of a file that changed meanwhile, and asks about keys that both changed",
  { skip },
  async (t) => {
    const scene = await openPanel(t, { prepare });
    const page = await scene.open("/config?section=logging");
    await field(page, "logging.level").getByRole("combobox").selectOption("warn");
    await page.getByRole("button", { name: "Cron" }).click();
    await field(page, "cron.enabled").getByRole("combobox").selectOption("Off");
    await page.getByRole("link", { name: "Sessions" }).click();
    await page.getByRole("heading", { name: "Sessions" }).waitFor();
    await page.getByRole("link", { name: "Configuration" }).click();
    await page.getByText("2 unsaved changes").waitFor();

    await patchElsewhere(scene, "{ logging: { level: 'debug' }, cron: { maxConcurrentRuns: 2 } }");
    await apply(page);
    await page.getByText("Your changes now apply to the new file").waitFor();
    const conflicts = page.getByRole("region", { name: "Changed by both" });
    await conflicts.getByText("logging.level").waitFor();
    assert.equal(await conflicts.getByRole("button").count(), 2, "the other key has no conflict");
    assert.ok(await page.getByRole("button", { name: "Review" }).isDisabled());
    await conflicts.getByRole("button", { name: "Use theirs: debug" }).click();
    await apply(page);
    await applied(page);
    const { logging, cron } = await parsed(scene);
    assert.deepEqual([logging, cron], [{ level: "debug" }, { maxConcurrentRuns: 2, enabled: false }]);
  },
);

it("writes only to the file that people reviewed", { skip }, async (t) => {
  const scene = await openPanel(t, { prepare });
  const page = await scene.open("/sessions");
  await page.clock.install();
  await page.getByRole("link", { name: "Configuration" }).click();
  await page.getByRole("button", { name: "Logging" }).click();
  await field(page, "logging.level").getByRole("combobox").selectOption("warn");
  await page.getByRole("button", { name: "Review" }).click();

  await patchElsewhere(scene, "{ logging: { level: 'debug' } }");
  await page.clock.fastForward(15_000);
  await page.locator('section[aria-label="Changed by both"]').waitFor({ state: "attached" }); // below the dialog
  await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal((await parsed(scene)).logging?.level, "debug");
  assert.ok(await page.getByRole("button", { name: "Review" }).isDisabled(), "people decide first");
});

it(
  "edits the text: comments and secrets stay, problems have a line, the browser asks before the text is lost",
  { skip },
  async (t) => {
    const scene = await openPanel(t, { prepare });
    const page = await scene.open("/config?mode=raw");
    const area = page.getByRole("textbox", { name: "Text of the configuration file" });
    const shown = await area.inputValue();
    assert.ok(shown.includes("// quiet") && !shown.includes(SECRET));

    await area.fill(shown.replace('"info"', "7"));
    await apply(page);
    await page.getByRole("dialog").getByRole("button", { name: "Back" }).click();
    await page.getByText("Line 3", { exact: true }).waitFor();
    assert.equal(await text(scene), FILE);

    const asked = new Promise<string>((resolve) =>
      page.once("dialog", (dialog) => void dialog.dismiss().then(() => resolve(dialog.type()))),
    );
    await page.close({ runBeforeUnload: true });
    assert.equal(await asked, "beforeunload");

    await area.fill(shown.replace('"info"', '"error"'));
    await apply(page);
    await applied(page);
    const written = await text(scene);
    assert.match(written, /level: "error" \}, \/\/ quiet/);
    assert.ok(written.includes(SECRET));
  },
);

it("explains an invalid file, and what waits for a restart; works at phone width", { skip }, async (t) => {
  const scene = await openPanel(t, { config: { gateway: { reload: { mode: "hot" } } } });
  const page = await scene.open("/config?section=gateway", { isPhone: true });
  await page.getByText("needs a restart").first().waitFor();
  const wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  assert.equal(wide, 0);

  const { hash } = await scene.client.call(config.get, {});
  const raw = "{ gateway: { reload: { mode: 'hot' }, customBindHost: '127.0.0.1' } }";
  await scene.client.call(config.set, { raw, baseHash: hash });
  await page.reload();
  await page.getByText("No restart is planned").waitFor();
  await page.getByText("svc gateway restart").waitFor();

  await writeFile(join(scene.stateDir, "svc.json"), "{ gateway: { port: 'x' } }");
  await page.reload();
  await page.getByText("The file is not valid").waitFor();
  await page.getByText("gateway.port").waitFor();
});

it("says after how long more changes are possible", { skip }, async (t) => {
  const scene = await openPanel(t, { prepare });
  const page = await scene.open("/config?section=logging");
  for (const level of ["warn", "error", "debug", "silent"]) {
    await field(page, "logging.level").getByRole("combobox").selectOption(level);
    await page.getByRole("region", { name: "Unsaved changes" }).waitFor();
    if (level === "error") assert.ok(await page.evaluate(IS_BAR_FREE), "a message covers the bar with the buttons");
    await apply(page);
    if (level !== "silent") await applied(page);
  }
  const dialog = page.getByRole("dialog");
  await dialog.getByText("rate limit exceeded").waitFor();
  await dialog.getByRole("button", { name: /Apply \(in \d+ s\)/ }).waitFor();
});
