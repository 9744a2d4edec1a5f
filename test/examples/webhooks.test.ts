// long: starts whole programs
/** The webhook examples run as their READMEs say: a gateway process, a request of a sender, and its outcome. */
import assert from "node:assert/strict";
import { createHmac, randomUUID } from "node:crypto";
import { chmod, cp, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { chat } from "@svc/sdk/chat";
import { testGateway } from "@svc/sdk/testing";
import { webhooks } from "@svc/sdk/webhooks";
import ticketsPlugin, { filed, tickets } from "../../examples/webhook-action/tickets.ts";
import { root } from "../checkout.ts";
import { directory } from "../directory.ts";
import { type GatewayProcess, type ProcessOptions, startGatewayProcess } from "../gateway-process.ts";

const TOKEN = "a-token-to-try-it-with";
const TRANSFORM = join(root, "examples/webhook-transform");
const ACTION = join(root, "examples/webhook-action");

async function start(
  t: TestContext,
  config: string,
  env: Record<string, string> = {},
  options: ProcessOptions = {},
): Promise<GatewayProcess> {
  const gateway = await startGatewayProcess(directory(t), { SVC_CONFIG_PATH: config, ...env }, options);
  t.after(() => gateway.kill());
  return gateway;
}

type Headers = Readonly<Record<string, string>>;

async function post(gateway: GatewayProcess, path: string, body: string, headers: Headers) {
  const url = `${gateway.url.replace("ws:", "http:")}/hooks/${path}`;
  const response = await fetch(url, { method: "POST", body, headers });
  return { status: response.status, text: await response.text() };
}

/** The status of a run once it has ended. */
async function ended(gateway: GatewayProcess, runId: string, token = TOKEN): Promise<{ status: string }> {
  const url = `${gateway.url.replace("ws:", "http:")}/hooks/runs/${runId}`;
  for (;;) {
    const run = (await (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).json()) as {
      status: string;
    };
    if (run.status !== "queued" && run.status !== "running") return run;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** An opened issue becomes a run of the agent, whose reply is in the session of the issue. */
async function answersAnIssue(gateway: GatewayProcess, headers: Headers, token = TOKEN): Promise<void> {
  const issue = await readFile(join(TRANSFORM, "issue-opened.json"), "utf8");
  const delivery = { "x-github-event": "issues", "x-github-delivery": randomUUID(), ...headers };
  const { status, text } = await post(gateway, "issue", issue, delivery);
  assert.equal(status, 200, text);
  const { runId } = JSON.parse(text) as { runId: string };
  assert.equal((await ended(gateway, runId, token)).status, "done");

  await using client = await gateway.connect();
  const { run } = await client.call(webhooks.run, { runId });
  assert.equal(run.sessionKey, "agent:main:hook:github:acme/shop:42");
  const { messages } = await client.call(chat.history, { sessionKey: run.sessionKey });
  const [asked, replied] = messages.map((message) => JSON.stringify(message));
  assert.match(asked ?? "", /"role":"user".*Issue #42 of acme\/shop \(bug, cart\): The cart forgets its items/);
  assert.match(asked ?? "", /EXTERNAL_UNTRUSTED_CONTENT/);
  assert.match(replied ?? "", /"role":"assistant".*offline responder/);

  const again = await post(gateway, "issue", issue, delivery);
  assert.deepEqual([again.status, JSON.parse(again.text)], [200, { ok: true, runId }], "a delivery that is repeated");
}

/** Why the loader refuses transforms of the checkout; `false`: it does not. */
async function checkoutProblem(): Promise<string | false> {
  const own = process.getuid?.();
  const { uid, mode } = await stat(join(TRANSFORM, "hooks/transforms"));
  if (own !== undefined && uid !== own && uid !== 0) return "the checkout belongs to another user";
  return (mode & 0o002) !== 0 && "the checkout can be written by anybody";
}

describe("examples/webhook-transform", () => {
  it("answers an issue posted with the hook token, from the checkout", async (t) => {
    const problem = await checkoutProblem();
    if (problem) return t.skip(problem);
    const gateway = await start(t, join(TRANSFORM, "svc.json"));
    await answersAnIssue(gateway, { authorization: `Bearer ${TOKEN}` });
  });

  it("skips other actions on issues, refuses other payloads, and ignores other events", async (t) => {
    const copy = join(directory(t), "copy");
    await cp(TRANSFORM, copy, { recursive: true });
    const gateway = await start(t, join(copy, "svc.json"));
    const issue = await readFile(join(TRANSFORM, "issue-opened.json"), "utf8");
    const event = { authorization: `Bearer ${TOKEN}`, "x-github-event": "issues" };
    const closed = issue.replace('"opened"', '"closed"');
    assert.deepEqual(await post(gateway, "issue", closed, event), { status: 204, text: "" });
    const wrong = await post(gateway, "issue", issue.replace("42", '"42"'), event);
    assert.equal(wrong.status, 400);
    assert.match(wrong.text, /payload\.issue\.number: /);
    assert.equal((await post(gateway, "issue", issue, { ...event, "x-github-event": "push" })).status, 404);
    assert.equal((await post(gateway, "issue", issue, { "x-github-event": "issues" })).status, 401);
  });

  for (const [umask, folders, file] of [
    ["002", 0o775, 0o664],
    ["077", 0o700, 0o600],
  ] as const)
    it(`works in a checkout made with umask ${umask}`, async (t) => {
      const copy = join(directory(t), "copy");
      await cp(TRANSFORM, copy, { recursive: true });
      await chmod(copy, folders);
      for (const entry of await readdir(copy, { recursive: true, withFileTypes: true }))
        await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? folders : file);
      const gateway = await start(t, join(copy, "svc.json"));
      await using client = await gateway.connect();
      assert.deepEqual(await client.call(webhooks.check, {}), { ok: true, problems: [] });
      const { mappings } = await client.call(webhooks.list, {});
      assert.equal(mappings.find(({ id }) => id === "issue")?.transform?.state, "live");
    });

  it("with signed.json accepts only requests that carry GitHub's signature", async (t) => {
    const copy = join(directory(t), "copy");
    await cp(TRANSFORM, copy, { recursive: true });
    const [token, secret] = ["hook token of the test", "secret of the test"];
    const env = { SVC_HOOKS_TOKEN: token, GITHUB_WEBHOOK_SECRET: secret };
    const gateway = await start(t, join(copy, "signed.json"), env, { logLevel: "info" });
    const issue = await readFile(join(TRANSFORM, "issue-opened.json"), "utf8");
    const signature = (key: string) => `sha256=${createHmac("sha256", key).update(issue).digest("hex")}`;
    const event = { "x-github-event": "issues" };
    const forged = { ...event, "x-hub-signature-256": signature("another") };
    assert.equal((await post(gateway, "issue", issue, forged)).status, 401);
    while (!gateway.log().includes("no signature matches")) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.doesNotMatch(gateway.log(), /of the test/, "the log contains no secret");
    assert.equal((await post(gateway, "issue", issue, { ...event, authorization: `Bearer ${token}` })).status, 401);
    await answersAnIssue(gateway, { "x-hub-signature-256": signature(secret) }, token);
  });
});

describe("examples/webhook-action", () => {
  it("files a ticket for an alert before it responds", async (t) => {
    const gateway = await start(t, join(ACTION, "svc.json"));
    const bearer = { authorization: `Bearer ${TOKEN}` };
    const alert = await readFile(join(ACTION, "alert.json"), "utf8");
    const { status, text } = await post(gateway, "alert", alert, bearer);
    assert.equal(status, 200, text);
    const { runId } = JSON.parse(text) as { runId: string };
    await using client = await gateway.connect();
    const [ticket, ...more] = (await client.call(tickets.list, {})).tickets;
    assert.deepEqual(more, []);
    const { filedAt, ...rest } = ticket ?? { filedAt: 0 };
    assert.deepEqual(rest, { id: runId, title: "DiskFull", text: "db-1: 97 % of /var are used.", priority: "high" });
    assert.ok(filedAt > 0);
    assert.equal((await ended(gateway, runId)).status, "done");

    const untitled = await post(gateway, "alert", '{"status":"firing"}', bearer);
    assert.deepEqual(
      [untitled.status, JSON.parse(untitled.text)],
      [400, { ok: false, error: "a ticket needs a title of 1 to 200 characters" }],
    );
    assert.equal((await post(gateway, "alert", '{"status":"resolved"}', bearer)).status, 404);
    assert.equal((await client.call(tickets.list, {})).tickets.length, 1);
  });

  it("is a plugin a test can start by itself", async (t) => {
    const { client, gateway } = await testGateway(t, {
      plugins: ["storage-sqlite", "webhooks", ticketsPlugin],
      config: {
        hooks: { enabled: true, token: TOKEN, mappings: [{ action: "ticket", title: "{{name}}" }] },
      },
    });
    const told = new Promise<{ title: string }>((resolve) => client.on(filed, resolve));
    const response = await fetch(`http://127.0.0.1:${gateway.port}/hooks/any`, {
      method: "POST",
      body: '{"name":"It is full"}',
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    assert.equal(response.status, 200);
    assert.equal((await told).title, "It is full");
  });
});
