/** The view Approvals in a real browser. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { ParamsOf } from "@svc/sdk";
import { execApproval, execApprovals } from "@svc/sdk/approvals";
import { without } from "../../programs.ts";
import { openPanel } from "./browser-scene.ts";
import { openWith } from "./fewer-rights.ts";
import { fitsWidth } from "./layout.ts";

const skip = without("chromium");
const HOSTILE = "echo '<img src=x onerror=alert(1)>'";

it("decides requests, and keeps what was decided and granted", { skip, timeout: 120_000 }, async (t) => {
  const scene = await openPanel(t);
  const { client, open } = scene;
  const ask = (command: string, more: Partial<ParamsOf<typeof execApproval.request>> = {}) =>
    client.call(execApproval.request, { command, agentId: "main", timeoutMs: 100_000, ...more });
  const page = await open("/approvals");
  const dialog = page.getByRole("dialog");
  const card = (command: string) => page.getByRole("article", { name: `Request: ${command}` });

  await t.test("a request shows everything that people need to judge it", async () => {
    await page.getByText("No pending approval").waitFor();
    const decided = ask(HOSTILE, {
      commandArgv: ["echo", "<img src=x onerror=alert(1)>", ""],
      cwd: "/srv/app",
      env: { SECRET_KEY: "the-value" },
      sessionKey: "agent:main:main",
      turnSourceChannel: "telegram",
      turnSourceTo: "100200300",
    });
    const request = card(HOSTILE);
    for (const text of ["/srv/app", "SECRET_KEY", "agent:main:main", "telegram · 100200300", "(empty)"])
      await request.getByText(text, { exact: true }).waitFor();
    await request.getByText("The environment variables must have the same values.").waitFor();
    await request.getByRole("timer").waitFor();
    assert.ok(!(await page.content()).includes("the-value"));
    await request.getByRole("button", { name: "Allow once" }).click();
    assert.equal((await decided).decision, "allow-once");
    await request.waitFor({ state: "detached" });
  });

  await t.test("keys decide only the request that has the focus", async () => {
    const first = ask("first");
    await card("first").waitFor();
    const second = ask("second");
    await card("second").waitFor();
    await page.keyboard.press("d");
    await card("first").and(page.locator(":focus")).waitFor();
    await card("second").focus();
    await page.keyboard.press("d");
    assert.equal((await second).decision, "deny");
    await card("second").waitFor({ state: "detached" });
    await card("first").waitFor();
    await page.keyboard.press("a"); // only moves the focus: the decided request had it
    await card("first").and(page.locator(":focus")).waitFor();
    await page.keyboard.press("a");
    assert.equal((await first).decision, "allow-once");
  });

  await t.test("a grant: for how long, what it covers, where it is listed, and its end", async () => {
    const decided = ask("make build");
    await card("make build").getByRole("button", { name: "Allow for" }).click();
    await dialog.getByRole("radio", { name: "Exactly this request" }).waitFor();
    await dialog.getByLabel("For how long").selectOption({ label: "8 hours" });
    await dialog.getByRole("button", { name: "Allow", exact: true }).click();
    assert.equal((await decided).decision, "allow-once");
    const { grants } = await client.call(execApprovals.grants, {});
    const hours = grants.map(({ createdAtMs, expiresAtMs }) => Math.round((expiresAtMs - createdAtMs) / 3_600_000));
    assert.deepEqual(hours, [8]);
    await page.getByRole("tab", { name: "Grants" }).click();
    const grant = page.getByRole("article").filter({ hasText: "make build" });
    await grant.getByRole("button", { name: "Revoke" }).click();
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await page.getByText("No grant").waitFor();
    assert.deepEqual((await client.call(execApprovals.grants, {})).grants, []);
  });

  await t.test("what was decided, and by whom", async () => {
    await page.getByRole("tab", { name: "Grants" }).press("ArrowLeft");
    const decided = page.getByRole("group").filter({ hasText: "second" });
    await decided.getByText("denied").click();
    await decided.getByText(/ on Linux/).waitFor();
    assert.equal(await page.getByRole("tab", { name: "Decided" }).getAttribute("aria-selected"), "true");
  });

  await t.test("a request that arrives while people look at something else", async () => {
    const other = await open("/sessions");
    const decided = ask("later");
    await other.getByRole("status").getByText("Approval needed: later").waitFor();
    await other.getByRole("button", { name: "View" }).click();
    await other.getByRole("button", { name: "Deny" }).click();
    assert.equal((await decided).decision, "deny");
  });

  await t.test("a refused decision stays at its request, with the cause", async () => {
    await page.getByRole("tab", { name: "Waiting" }).click();
    const decided = ask("contested");
    await card("contested").getByRole("button", { name: "Allow for" }).click();
    const { approvals } = await client.call(execApproval.list, {});
    const id = approvals.find(({ request }) => request.command === "contested")?.id ?? "";
    await client.call(execApproval.resolve, { id, decision: "deny" });
    await dialog.getByRole("button", { name: "Allow", exact: true }).click();
    await dialog.getByRole("alert").getByText("this was already decided: deny").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    assert.equal((await decided).decision, "deny");
  });

  await t.test("an approver who is no admin decides, without grants and rules", async () => {
    const approver = await openWith(scene, "/approvals", ["operator.approvals", "operator.read"]);
    const decided = ask("by the approver");
    await approver.getByRole("button", { name: "Allow once" }).click();
    assert.equal((await decided).decision, "allow-once");
    await approver.getByText("No pending approval").waitFor();
    assert.deepEqual(
      await approver
        .getByRole("tab")
        .allTextContents()
        .then((all) => all.map((text) => text.trim())),
      ["Waiting", "Decided"],
    );
  });

  await t.test("a phone shows it without sideways scrolling", async () => {
    const decided = ask(`cat ${"/very/long/path".repeat(30)}`);
    const phone = await open("/approvals", { isPhone: true, locale: "de-DE" });
    const request = phone.getByRole("article").first();
    await request.waitFor();
    await fitsWidth(phone);
    await request.getByRole("button", { name: "Ablehnen" }).click();
    await decided;
  });
});

it(
  "changes the rules for commands, and refuses to overwrite those of somebody else",
  { skip, timeout: 120_000 },
  async (t) => {
    const { client, open } = await openPanel(t);
    const page = await open("/approvals?tab=rules");
    const rules = async () => (await client.call(execApprovals.get, {})).file;
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Add rules for an agent" }).click();
    await dialog.getByLabel("Id of the agent").fill("main");
    await dialog.getByRole("button", { name: "Add" }).click();
    const main = page.getByRole("group", { name: "Agent main" });
    await main.getByLabel("What may run").selectOption("allowlist");
    await main.getByRole("button", { name: "Add a program" }).click();
    await dialog.getByRole("textbox", { name: /^Program/ }).fill("/usr/bin/systemctl");
    await dialog.getByRole("combobox", { name: /^Arguments/ }).selectOption("exact");
    await dialog.getByRole("textbox", { name: /^Exact arguments/ }).fill("is-active\nmy service");
    await dialog.getByRole("button", { name: "Add" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The rules are saved").waitFor();
    const { agents } = await rules();
    assert.equal(agents?.["main"]?.security, "allowlist");
    const [entry] = agents?.["main"]?.allowlist ?? [];
    assert.deepEqual([entry?.pattern, entry?.args], ["/usr/bin/systemctl", ["is-active", "my service"]]);

    await main.getByLabel("What may run").selectOption("full");
    await main.getByText("Agents can run every command").waitFor();
    const { hash, file } = await client.call(execApprovals.get, {});
    await client.call(execApprovals.set, { file: { ...file, defaults: { ask: "always" } }, baseHash: hash });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").getByText("the policy file changed since it was read").waitFor();
    await page.getByRole("button", { name: "Discard and reload" }).click();
    await main.getByText("Agents can run every command").waitFor({ state: "detached" });
    assert.equal(await page.getByRole("group", { name: "All agents" }).getByLabel("Ask people").inputValue(), "always");
    await main.getByRole("button", { name: "Remove /usr/bin/systemctl" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("No program is listed.").waitFor();
    await page.getByRole("button", { name: "Discard changes" }).waitFor({ state: "detached" }); // nothing is left to save
    const after = await rules();
    assert.deepEqual([after.agents?.["main"]?.allowlist, after.defaults], [[], { ask: "always" }]);
  },
);
