/** The view Automations in a real browser. */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { config } from "@svc/sdk/config";
import { cron, type CronJob } from "@svc/sdk/cron";
import { webhooks } from "@svc/sdk/webhooks";
import { until } from "../../until.ts";
import { without } from "../../programs.ts";
import { changeAnswers, withScopes } from "./answers.ts";
import { openPanel } from "./browser-scene.ts";
import { fitsWidth } from "./layout.ts";

const options = { skip: without("chromium") };
const HOOK_TOKEN = "hook-token-of-the-test-0123";
const EVERY_DAY = { kind: "cron", expr: "0 8 * * *", tz: "UTC" };

it("makes a job from an example, and shows its next runs while the schedule changes", options, async (t) => {
  const { client, open } = await openPanel(t);
  const page = await open("/automations");
  await page.getByRole("button", { name: "Every morning at 8" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.locator(".preview li").nth(4).waitFor();

  await dialog.getByLabel("Cron expression").fill("99 8 * * *");
  await dialog.getByText(/cron expression "99 8 \* \* \*"/).waitFor();
  await dialog.getByLabel("Cron expression").fill("30 7 * * *");
  await dialog.getByLabel("Time zone").fill("Asia/Tokyo");
  await dialog.getByText("in Asia/Tokyo").waitFor();
  await dialog
    .getByText(/07:30 AM/)
    .first()
    .waitFor();

  await dialog.getByLabel("Schedule").selectOption("every");
  await dialog.getByLabel("Every", { exact: true }).fill("0.5");
  await dialog.getByLabel("Unit").selectOption("seconds");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("alert").getByText("at least 1000").waitFor();
  await dialog.getByLabel("Schedule").selectOption("cron");
  await dialog.getByRole("button", { name: "Save" }).click();

  await page.getByRole("link", { name: "Morning summary" }).waitFor();
  const { jobs } = await client.call(cron.list, {});
  const [{ schedule, sessionTarget, payload, delivery } = {} as CronJob] = jobs;
  assert.deepEqual(schedule, { kind: "cron", expr: "30 7 * * *", tz: "Asia/Tokyo" });
  assert.deepEqual([sessionTarget, payload?.kind, delivery?.mode], ["isolated", "agentTurn", "announce"]);
});

it("saves a job with every setting unchanged, and a change of one setting only", options, async (t) => {
  const { client, open } = await openPanel(t);
  const everything = {
    name: "Everything",
    description: "all settings",
    enabled: false,
    deleteAfterRun: true,
    schedule: { kind: "cron", expr: "*/7 3 * * *", tz: "Europe/Berlin", staggerMs: 120_000 },
    sessionTarget: "isolated",
    wakeMode: "next-heartbeat",
    sessionKey: "agent:main:main",
    agentId: "main",
    payload: {
      kind: "agentTurn",
      message: "line one\nline two",
      model: "offline/offline",
      fallbacks: ["offline/other"],
      thinking: "low",
      timeoutSeconds: 90,
      lightContext: true,
    },
    delivery: {
      mode: "announce",
      channel: "telegram",
      to: "-1001",
      accountId: "work",
      bestEffort: true,
      failureDestination: { mode: "webhook", to: "https://example.com/failed" },
    },
    failureAlert: { after: 3, cooldownMs: 600_000, mode: "announce", channel: "slack", to: "C1", accountId: "two" },
    catchUp: { mode: "all", windowMs: 7_200_000 },
    overlap: "queue",
  };
  const once = {
    name: "Once",
    schedule: { kind: "at", at: "2029-03-04T05:06:07.890Z" },
    payload: { kind: "systemEvent", text: "now" },
    delivery: { mode: "webhook", to: "https://example.com/done" },
    failureAlert: false,
  };
  const steady = { name: "Steady", schedule: { kind: "every", everyMs: 90_000, anchorMs: 1_234_567 }, text: "tick" };
  for (const job of [everything, once, steady]) await client.call(cron.add, job);
  const stored = async () => {
    const { jobs } = await client.call(cron.list, { includeDisabled: true, sortBy: "name" });
    return jobs.map(({ state: _state, updatedAtMs: _at, ...rest }) => rest);
  };
  const before = await stored();

  const page = await open("/automations");
  const save = async (name: string, change?: () => Promise<void>) => {
    await page.getByRole("button", { name: `Change ${name}` }).click();
    await change?.();
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  for (const { name } of [everything, once, steady]) await save(name);
  const [first, ...others] = before;
  const kept = { deleteAfterRun: false, lightContext: false, overlap: "skip", catchUp: { mode: "last" } };
  const [same, ...rest] = await stored();
  assert.deepEqual(same, first);
  // What was a default is now written down; nothing else may differ.
  for (const [index, job] of rest.entries())
    assert.deepEqual(
      { ...job },
      { overlap: kept.overlap, catchUp: kept.catchUp, deleteAfterRun: false, ...others[index], ...bestEffortOf(job) },
    );

  await save("Everything", () => page.getByLabel("Recipient").first().fill("-1002"));
  const [changed] = await stored();
  assert.equal(changed?.delivery?.to, "-1002");
  assert.deepEqual({ ...changed, delivery: { ...changed?.delivery, to: "-1001" } }, first);
});

function bestEffortOf({ delivery }: Pick<CronJob, "delivery">): Partial<Pick<CronJob, "delivery">> {
  return delivery ? { delivery: { ...delivery, bestEffort: false } } : {};
}

it("turns a job off, runs it, shows why the run failed, and deletes it", options, async (t) => {
  const { client, open } = await openPanel(t);
  const hostile = "Bad <img src=x onerror=alert(1)>";
  const payload = { kind: "agentTurn", message: "hi", model: "nobody/none" };
  const { id } = await client.call(cron.add, { name: hostile, schedule: EVERY_DAY, payload });
  const page = await open("/automations");
  await page.getByRole("switch", { name: `${hostile} is on` }).click();
  await until(async () => (await client.call(cron.list, { id })).jobs[0]?.enabled === false);
  assert.equal(await page.getByRole("switch").isChecked(), false);

  await page.getByRole("button", { name: `Run ${hostile} now` }).click();
  await page.getByRole("listitem").getByText("failed").waitFor(); // by the event of the gateway
  await page.getByRole("link", { name: hostile }).click();
  await page.getByRole("heading", { name: hostile }).waitFor();
  const run = page.getByRole("list", { name: "Runs" }).getByRole("listitem");
  await run.getByText("nobody/none").waitFor();
  await run.getByText("by hand").waitFor();

  await page.getByLabel("Show").selectOption("ok");
  await page.getByText("No run", { exact: true }).waitFor();
  await page.getByRole("button", { name: `Delete ${hostile}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No job yet").waitFor();
  assert.equal((await client.call(cron.status, {})).jobs, 0);
});

it("finds jobs, and lists more than one page of them", options, async (t) => {
  const { client, open } = await openPanel(t);
  const job = (n: number) => ({ name: `Job ${n}`, schedule: EVERY_DAY, text: "x" });
  for (let n = 1; n <= 205; n++) await client.call(cron.add, job(n));
  const page = await open("/automations");
  await page.getByText("205 jobs").waitFor();
  assert.equal(await page.getByRole("switch").count(), 200);
  await page.getByRole("button", { name: "Show more (5 left)" }).click();
  await page.getByRole("switch").nth(204).waitFor();
  await page.getByRole("searchbox").fill("job 17");
  await page.getByText("11 jobs").waitFor(); // 17, and 170 to 179
  await page.getByLabel("Show").selectOption("disabled");
  await page.getByText("No job matches").waitFor();
});

it("without the right to change jobs offers no change", options, async (t) => {
  const { client, page: fresh, address, gateway } = await openPanel(t);
  await client.call(cron.add, { name: "Tea", schedule: EVERY_DAY, text: "tea" });
  const page = await fresh();
  await changeAnswers(page, withScopes("operator.read"));
  await page.goto(`${address}/automations#token=${gateway.token}`);
  await page.getByRole("link", { name: "Tea" }).waitFor();
  assert.equal(await page.getByRole("switch").isDisabled(), true);
  assert.equal(await page.getByRole("button", { name: "New job" }).count(), 0);
  assert.equal(await page.getByRole("button", { name: "Delete Tea" }).count(), 0);
});

const HOOKS = {
  enabled: true,
  token: HOOK_TOKEN,
  presets: ["github"],
  mappings: [
    { id: "build", match: { path: "build" }, messageTemplate: "Build {{name}} failed", model: "nobody/none" },
    { id: "issues", match: { path: "issues" }, transform: { module: "issues.ts" } },
  ],
};

it("shows mappings, the line of a broken transform, and what a sample request would become", options, async (t) => {
  const {
    client,
    open,
    page: _page,
  } = await openPanel(t, {
    config: { hooks: HOOKS },
    async prepare(stateDir) {
      await mkdir(join(stateDir, "hooks/transforms"), { recursive: true });
      await writeFile(join(stateDir, "hooks/transforms/issues.ts"), "export default () => ({});\nconst x: = 3;\n");
    },
  });
  const page = await open("/automations?tab=webhooks");
  await page.getByRole("list", { name: "Problems" }).getByText("issues.ts:2:10").waitFor();
  await page.getByRole("list", { name: "Transforms" }).getByText("broken").waitFor();
  await page.getByRole("switch", { name: "build is on" }).click();
  await until(async () => {
    const { mappings } = await client.call(webhooks.list, {});
    return mappings.find(({ id }) => id === "build")?.enabled === false;
  });

  await page.getByRole("link", { name: "github-issue", exact: true }).click();
  const curl = page.locator(".command code");
  assert.match((await curl.textContent()) ?? "", /'http:\/\/127.0.0.1:\d+\/hooks\/github' .*\$SVC_HOOKS_TOKEN/);
  await page.getByRole("button", { name: "Sample request" }).click();
  const payload = page.getByLabel("Payload (JSON)");
  await until(async () => (await payload.inputValue()).includes('"full_name"'));
  await page.getByRole("button", { name: "Try", exact: true }).click();
  const steps = page.getByRole("list", { name: "Result" });
  await steps.getByText("Issue #1 was opened in full_name").first().waitFor();
  await steps.getByText("200").waitFor();
  assert.deepEqual(await client.call(webhooks.runs, {}), { runs: [] }); // nothing was run

  await payload.fill('{"action": "closed"}');
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await steps.getByText("no mapping accepts the request").waitFor();
  await payload.fill("{");
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByRole("alert").getByText("The payload is not valid JSON").waitFor();
});

it("lists accepted webhooks, shows what a failed one got, and runs it again", options, async (t) => {
  const { client, open, address } = await openPanel(t, { config: { hooks: HOOKS } });
  const body = JSON.stringify({ name: "<b>web</b>" });
  const headers = { authorization: `Bearer ${HOOK_TOKEN}` };
  const answer = await fetch(`${address}/hooks/build`, { method: "POST", headers, body });
  assert.equal(answer.status, 200);
  await until(async () => (await client.call(webhooks.runs, { status: "failed" })).runs.length === 1);
  const page = await open("/automations?tab=webhooks");
  const runs = page.getByRole("list", { name: "Accepted webhooks" });
  await runs.getByText("nobody/none").waitFor();

  await runs.getByRole("button", { name: "Webhook build" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Build <b>web</b> failed").waitFor();
  await dialog.getByRole("button", { name: "Run again" }).click();
  await dialog.waitFor({ state: "detached" });
  await runs.getByRole("listitem").nth(1).waitFor();
  const { runs: all } = await client.call(webhooks.runs, {});
  assert.equal(all[0]?.replayOf, all[1]?.runId);
  await page.getByLabel("Status").selectOption("done");
  await page.getByText("No webhook matches").waitFor();
});

it("turns webhooks on with a token that the page never shows", options, async (t) => {
  const { client, open, stateDir } = await openPanel(t);
  const page = await open("/automations?tab=webhooks");
  await page.getByRole("button", { name: "Turn webhooks on" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Turn webhooks on" }).click();
  await page.getByText("No webhook yet").waitFor();
  assert.equal((await client.call(webhooks.list, {})).enabled, true);
  const file = await readFile(join(stateDir, "svc.json"), "utf8");
  const token = /"token": "([0-9a-f]{48})"/.exec(file)?.[1] ?? "";
  assert.notEqual(token, "");
  assert.equal((await page.content()).includes(token), false);
  assert.deepEqual((await client.call(config.get, {})).issues, []);
});

it("fits a phone", options, async (t) => {
  const { client, open } = await openPanel(t, { config: { hooks: HOOKS } });
  await client.call(cron.add, { name: "A".repeat(200), schedule: EVERY_DAY, text: "word ".repeat(200) });
  const page = await open("/automations", { isPhone: true });
  await page.getByRole("button", { name: "New job" }).click();
  await page.getByText("More settings").click();
  await fitsWidth(page, "editor");
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: /^A+$/ }).click();
  await page.getByRole("heading", { name: /^A+$/ }).waitFor();
  await fitsWidth(page, "job");
  await page.getByRole("tab", { name: "Webhooks" }).click();
  await page.getByRole("link", { name: "github-issue", exact: true }).click();
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByRole("list", { name: "Result" }).waitFor();
  await fitsWidth(page, "webhook");
});
