/** The view Agents in a real browser. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { agents } from "@svc/sdk/agents";
import type { GatewayClient } from "@svc/sdk/client";
import { config } from "@svc/sdk/config";
import { sessions } from "@svc/sdk/sessions";
import type { Page } from "playwright-core";
import { without } from "../../programs.ts";
import { until } from "../../until.ts";
import { openPanel } from "./browser-scene.ts";
import { fitsWidth } from "./layout.ts";

const skip = without("chromium");
const HOSTILE = "<img src=x onerror=alert(1)>";

interface Entry {
  readonly id: string;
  readonly model?: unknown;
  readonly skills?: unknown;
  readonly tools?: Readonly<Record<string, unknown>>;
}

/** Opens a tab of an agent within the page. */
async function tab(page: Page, name: string): Promise<void> {
  await page.getByRole("tab", { name, exact: true }).click();
}

/** The entry of an agent in the configuration file. */
async function entryOf(client: GatewayClient, id: string): Promise<Entry | undefined> {
  const { parsed } = await client.call(config.get, {});
  const { agents: section } = parsed as { agents: { list: readonly Entry[] } };
  return section.list.find((entry) => entry.id === id);
}

/** Waits until the editor shows a text. */
const shows = (page: Page, text: string) =>
  until(async () => (await page.locator(".document textarea").inputValue()) === text, "the text");

it("creates, edits and deletes an agent", { skip }, async (t) => {
  const { client, open, stateDir } = await openPanel(t);
  const page = await open("/agents");
  await page.getByRole("button", { name: "New agent" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Name" }).fill("main");
  await dialog.getByRole("button", { name: "New agent" }).click();
  await dialog.getByText('the id "main" is reserved').waitFor();
  await dialog.getByRole("textbox", { name: "Name" }).fill(`Zoe ${HOSTILE}`);
  await dialog.getByRole("textbox", { name: "Emoji" }).fill("*");
  await dialog.getByRole("button", { name: "New agent" }).click();

  await page.getByRole("heading", { name: `Zoe ${HOSTILE}` }).waitFor();
  const { agents: all } = await client.call(agents.list, {});
  const { id = "" } = all.find(({ name }) => name === `Zoe ${HOSTILE}`) ?? {};
  const { workspace } = await client.call(agents.filesList, { agentId: id });
  assert.ok(workspace.startsWith(`${stateDir}/workspace-zoe`), workspace);

  await page.getByRole("button", { name: "Edit" }).click();
  await dialog.getByRole("textbox", { name: "Name" }).fill("Zoe");
  await dialog.getByRole("textbox", { name: "Style" }).fill("calm");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("heading", { name: "Zoe", exact: true }).waitFor();
  await page.locator("dd", { hasText: /^calm$/ }).waitFor();

  await page.getByRole("button", { name: "Edit" }).click();
  await dialog.getByRole("textbox", { name: "Style" }).fill("");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await page.locator("dd", { hasText: /^calm$/ }).waitFor({ state: "detached" });

  await page.getByRole("button", { name: "Delete agent" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page
    .getByRole("link", { name: "Assistant" })
    .or(page.getByRole("link", { name: "main" }))
    .first()
    .waitFor();
  assert.ok(!(await client.call(agents.list, {})).agents.some((agent) => agent.id === id));
});

it("edits files without losing the work of anybody, and restores versions", { skip }, async (t) => {
  const { client, open } = await openPanel(t);
  const set = (content: string) => client.call(agents.filesSet, { agentId: "main", name: "SOUL.md", content });
  const stored = async () => (await client.call(agents.filesGet, { agentId: "main", name: "SOUL.md" })).file.content;
  await set("first\n");
  const page = await open("/agents?agent=main&tab=files");
  await page.getByRole("button", { name: /^SOUL\.md/ }).click();
  const text = page.getByRole("textbox", { name: "SOUL.md" });
  await shows(page, "first\n");

  await text.fill("mine\n");
  await tab(page, "Model"); // a text that is not saved survives
  await page.getByRole("link", { name: "All agents" }).click();
  await page.goBack();
  await tab(page, "Files");
  await page.getByRole("button", { name: /^SOUL\.md.*Not saved/ }).click();
  await shows(page, "mine\n"); // the file is loaded
  await set("theirs\n");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("alert").getByText("changed elsewhere").waitFor();
  assert.equal(await stored(), "theirs\n");
  assert.equal(await text.inputValue(), "mine\n");
  await page.getByRole("button", { name: "Show changed file" }).click();
  await page.getByRole("dialog").getByText("theirs").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Overwrite" }).click();
  await page.getByText("Saved", { exact: true }).waitFor();
  assert.equal(await stored(), "mine\n");

  await page.getByRole("button", { name: "Compare version 3 of SOUL.md with the one before it" }).click();
  await page.locator(".diff .removed", { hasText: "theirs" }).waitFor();
  await page.locator(".diff .added", { hasText: "mine" }).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Restore version 1 of SOUL.md" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
  await shows(page, "first\n");
  assert.equal(await stored(), "first\n");
});

it("changes the model and the tools of an agent", { skip }, async (t) => {
  const list = [{ id: "main" }, { id: "Ops", name: "Ops", tools: { deny: ["exec"] } }];
  const { client, open } = await openPanel(t, { config: { agents: { list }, tools: { deny: ["browser"] } } });
  const entry = () => entryOf(client, "Ops");
  const page = await open("/agents?agent=ops&tab=model");
  const own = page.locator("section", { hasText: "This agent" });

  await t.test("saves the model, and refuses to save over a change of somebody else", async () => {
    await own.getByRole("combobox", { name: "Model" }).selectOption("offline/offline");
    const { hash } = await client.call(config.get, {});
    await client.call(config.set, {
      raw: JSON.stringify({ agents: { list: [...list, { id: "third" }] }, tools: { deny: ["browser"] } }),
      baseHash: hash,
    });
    await own.getByRole("button", { name: "Save", exact: true }).click();
    await own.getByRole("alert").waitFor();
    assert.equal((await entry())?.model, undefined);
    await own.getByRole("button", { name: "Discard changes" }).click();
    await own.getByRole("alert").waitFor({ state: "detached" });
    await page.reload();
    await own.getByRole("combobox", { name: "Model" }).selectOption("offline/offline");
    await own.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved in the configuration").waitFor();
    assert.deepEqual((await entry())?.model, { primary: "offline/offline", fallbacks: [] });
  });

  await t.test("says why a tool is not allowed, and changes the rules", async () => {
    await tab(page, "Tools");
    const row = (name: string) => page.locator(".tool", { has: page.locator(`strong:text-is("${name}")`) });
    await row("exec").getByText("The rules of this agent exclude it").waitFor();
    await row("browser").getByText("The rules for all agents exclude it").waitFor();
    assert.equal(await row("browser").getByRole("button").count(), 0, "rules of the agent cannot allow it");
    await row("read").getByText("allowed").waitFor();
    await page.getByRole("button", { name: "Deny read" }).click();
    await page.getByRole("button", { name: "Stop denying exec" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await row("read").getByText("The rules of this agent exclude it").waitFor();
    await row("exec").getByText("allowed", { exact: true }).waitFor();
    assert.deepEqual((await entry())?.tools, { deny: ["read"] });
  });
});

it("chooses the skills of an agent, and shows its prompt and conversations", { skip }, async (t) => {
  const { client, open } = await openPanel(t, {
    config: { agents: { list: [{ id: "main" }, { id: "Ops", name: "Ops" }] } },
  });
  const page = await open("/agents?agent=ops&tab=skills");

  await t.test("chooses skills", async () => {
    await page.getByRole("button", { name: "Choose skills" }).click();
    await page.getByRole("checkbox", { name: "May use tmux-sessions" }).uncheck();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("button", { name: "Save", exact: true }).waitFor({ state: "detached" });
    const chosen = (await entryOf(client, "Ops"))?.skills as readonly string[];
    assert.ok(chosen.includes("git-summary") && !chosen.includes("tmux-sessions"), chosen.join());
  });

  await t.test("shows the prompt without creating the workspace, and the conversations", async () => {
    await tab(page, "Prompt");
    await page.locator("summary", { hasText: "Instructions of the configuration" }).click();
    await page.getByText("You are a helpful assistant").waitFor();
    assert.ok((await client.call(agents.filesList, { agentId: "ops" })).files.every(({ missing }) => missing));
    await client.call(agents.filesSet, { agentId: "ops", name: "SOUL.md", content: `Be ${HOSTILE}` });
    await client.call(sessions.patch, { key: "agent:ops:alpha", label: HOSTILE });
    await page.reload();
    await page.locator("summary", { hasText: "SOUL.md" }).click();
    await page.getByText(`Be ${HOSTILE}`).waitFor();
    await tab(page, "Sessions");
    const link = page.getByRole("link", { name: HOSTILE });
    const [opened] = await Promise.all([page.context().waitForEvent("page"), link.click({ modifiers: ["Control"] })]);
    await opened.close();
    assert.equal(new URL(page.url()).pathname, "/agents", "the link was opened elsewhere");
    await page.evaluate("globalThis.isSamePage = true");
    await link.click();
    await page.waitForURL("**/chat?session=agent%3Aops%3Aalpha");
    assert.equal(await page.evaluate("globalThis.isSamePage"), true, "the page was not loaded again");
  });

  await t.test("fits a phone, and tabs work with the keyboard", async () => {
    const phone = await open("/agents", { isPhone: true, theme: "dark" });
    await phone.getByRole("link", { name: "Ops" }).click();
    for (const name of ["Files", "Model", "Tools", "Skills", "Prompt", "Sessions"]) {
      await phone.getByRole("tab", { selected: true }).press("ArrowRight");
      await phone.getByRole("tab", { name, selected: true }).waitFor();
      await phone.locator(".spinner").first().waitFor({ state: "detached" });
      await fitsWidth(phone, name);
    }
  });
});
