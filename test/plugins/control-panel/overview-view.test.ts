/** The view Overview in a real browser. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { cron } from "@svc/sdk/cron";
import { nodes } from "@svc/sdk/nodes";
import { without } from "../../programs.ts";
import { changeAnswers } from "./answers.ts";
import { openPanel } from "./browser-scene.ts";
import { fitsWidth } from "./layout.ts";

const options = { skip: without("chromium") };

it("shows people of a new gateway where to start", options, async (t) => {
  const { open } = await openPanel(t);
  const page = await open("/overview");
  await page.getByRole("heading", { name: "Start here" }).waitFor();
  await page.getByRole("button", { name: "Open Channels" }).waitFor();
  await page.getByRole("button", { name: "Open Setup" }).click();
  await page.waitForURL("**/setup");
});

it("lists what needs attention with the way to it, and follows its changes", options, async (t) => {
  const { client, open } = await openPanel(t, {
    config: {
      hooks: {
        enabled: true,
        token: "hook-token-of-the-test-0123",
        mappings: ["missing", "b", "c", "d", "e", "f", "g"].map((id) => ({
          id,
          match: { path: id },
          transform: { module: `${id}.ts` },
        })),
      },
    },
  });
  const payload = { kind: "agentTurn", message: "hi", model: "nobody/none" };
  const job = { name: "Bad <i>job</i>", schedule: { kind: "every", everyMs: 3_600_000 }, payload };
  const { id } = await client.call(cron.add, job);
  await client.call(cron.run, { id });
  const page = await open("/overview");
  const needs = page.getByRole("list", { name: "Needs attention" }).getByRole("listitem");
  const checked = () => page.getByText("Checking everything").waitFor({ state: "detached" }); // afterwards no row moves
  await needs.filter({ hasText: "Webhooks: missing.ts has an error" }).waitFor();
  await page.getByRole("link", { name: "Bad <i>job</i>", exact: true }).waitFor(); // among the next jobs
  await checked();
  await needs
    .filter({ hasText: /\d+ more/ })
    .getByRole("button", { name: "Automations" })
    .click();
  await page.waitForURL("**/automations?tab=webhooks");
  await page.goBack();
  const failed = needs.filter({ hasText: "The last run of the job Bad <i>job</i> failed" });
  await failed.getByText("nobody/none").waitFor();
  await checked();
  await failed.getByRole("button", { name: "Automations" }).click();
  await page.waitForURL(`**/automations?tab=jobs&job=${id}`);
  await page.goBack();
  await failed.waitFor();
  await client.call(cron.remove, { id });
  await failed.waitFor({ state: "detached" });
});

it("shows cards of plugins as text, and a failure only in its own card", options, async (t) => {
  const { page: fresh, address, gateway } = await openPanel(t);
  const page = await fresh();
  const rows = [{ label: "Queue <b>", value: "<img src=x onerror=alert(1)>", tone: "warning" }];
  const cards = [
    { id: "one", plugin: "one", title: "Card one", content: { rows, text: "line 1\nline 2", page: "one.main" } },
    { id: "two", plugin: "two", title: "Card two", error: "the card did not answer within 5 s" },
  ];
  await changeAnswers(page, (method, answer) => {
    if (method === "panel.cards") answer.payload = { cards };
  });
  await page.goto(`${address}/overview#token=${gateway.token}`);
  const one = page.locator('[data-plugin="one"]');
  await one.getByText("<img src=x onerror=alert(1)>").waitFor();
  assert.equal(await one.getByRole("alert").count(), 0);
  await page.locator('[data-plugin="two"]').getByRole("alert").getByText("did not answer").waitFor();
  await page.getByText("healthy").waitFor();
  await one.getByRole("link", { name: "Open its page" }).click();
  await page.waitForURL("**/page?id=one.main");
});

it("names what could not be checked, and shows the rest", options, async (t) => {
  const { page: fresh, address, gateway } = await openPanel(t);
  const page = await fresh();
  const failing = new Set(["config.get", "sessions.list"]);
  await changeAnswers(page, (method, answer) => {
    if (!failing.has(method)) return;
    answer.ok = false;
    delete answer.payload;
    answer.error = { code: "UNAVAILABLE", message: `${method} is down` };
  });
  await page.goto(`${address}/overview#token=${gateway.token}`);
  await page.getByText("The configuration could not be checked").waitFor();
  const conversations = page.locator("section", { has: page.getByRole("heading", { name: "Last conversations" }) });
  await conversations.getByRole("alert").getByText("sessions.list is down").waitFor();
  await page.getByText("No job is due").waitFor();
  failing.clear();
  await conversations.getByRole("button", { name: "Try again" }).click();
  await conversations.getByText("No conversation yet").waitFor();
});

it("tells of a newer version and of a device that waits, as soon as the gateway does", options, async (t) => {
  const { client, gateway, page: fresh, address } = await openPanel(t);
  const page = await fresh();
  await changeAnswers(page, (method, { payload }) => {
    const version = { currentVersion: "0.1.0", latestVersion: "0.2.0", channel: "stable" };
    if (method === "connect" && payload) Object.assign(payload["snapshot"] as object, { updateAvailable: version });
  });
  await page.goto(`${address}/overview#token=${gateway.token}`);
  await page.getByText("Version 0.2.0 is available").waitFor();
  await page.getByText("svc update").waitFor();
  await client.call(nodes.pairRequest, { nodeId: "kitchen", displayName: "Kitchen" });
  await page.getByText("1 device needs approval").waitFor();
});

it("works with few plugins, and on a phone", options, async (t) => {
  const use = ["config", "health", "plugins", "control-panel"];
  const { open } = await openPanel(t, { config: { plugins: { use } } });
  const page = await open("/overview", { isPhone: true });
  await page.getByText("healthy").waitFor();
  await page.getByText("Everything is running. Nothing needs your attention.").waitFor();
  assert.equal(await page.getByRole("heading", { name: "Next jobs" }).count(), 0);
  assert.equal(await page.getByRole("alert").count(), 0);
  await fitsWidth(page);
});
