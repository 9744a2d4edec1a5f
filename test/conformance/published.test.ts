/** What the newest clients read, against the schemas that they publish. Spec: protocol 4 §7. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { published, publishedViolations } from "../published.ts";
import { attend, type Attendance } from "./attendance.ts";
import { BUNDLE } from "./config-bundle.ts";
import { fileGateway } from "./file-gateway.ts";
import { pigeon } from "../plugins/channels/pigeon.ts";

type Row = readonly [
  method: string,
  definition: string,
  params?: (scene: Attendance) => object,
  /** Key of what the definition describes: a value, or a list of them. Default: the whole result. */
  part?: string,
];

/** The methods without which a page, a screen or a command of the newest clients does not work. */
const NEEDED = [
  "health status system-presence system.info config.get config.set config.apply config.patch config.schema config.schema.lookup",
  "channels.status channels.logout agents.list agent.identity.get models.list commands.list",
  "chat.startup chat.history chat.metadata chat.send chat.abort",
  "sessions.list sessions.subscribe sessions.messages.subscribe sessions.messages.unsubscribe sessions.describe sessions.resolve",
  "sessions.create sessions.patch sessions.reset sessions.delete sessions.compact sessions.viewers.set sessions.usage",
  "usage.cost usage.status cron.status cron.list cron.get cron.add cron.update cron.remove cron.run cron.runs",
  "agent agent.wait wake last-heartbeat set-heartbeats logs.tail message.action send",
  "device.pair.list device.pair.approve device.pair.reject device.pair.remove device.token.rotate device.token.revoke",
  "node.list node.describe node.pair.list node.pair.approve node.pair.reject node.invoke node.invoke.result node.event",
  "skills.status question.list plugin.approval.list exec.approval.list exec.approval.request exec.approval.resolve",
  "exec.approvals.get exec.approvals.set update.status secrets.reload tools.catalog",
].flatMap((line) => line.split(" "));

const READS: readonly Row[] = [
  ["agent.identity.get", "AgentIdentityResult"],
  ["agents.list", "AgentsListResult"],
  ["agents.files.list", "AgentsFilesListResult", () => ({ agentId: "main" })],
  ["agents.files.get", "AgentsFilesGetResult", () => ({ agentId: "main", name: "AGENTS.md" })],
  ["channels.pairing.list", "ChannelsPairingListResult"],
  ["channels.status", "ChannelsStatusResult"],
  ["channels.status", "ChannelsStatusResult", () => ({ probe: true, timeoutMs: 8_000 })],
  ["commands.list", "CommandsListResult"],
  ["config.schema", "ConfigSchemaResponse"],
  ["config.schema.lookup", "ConfigSchemaLookupResult", () => ({ path: "." })],
  ["config.schema.lookup", "ConfigSchemaLookupResult", () => ({ path: "agents.list[].model" })],
  ["cron.get", "CronJob", ({ cronJobId }) => ({ id: cronJobId })],
  ["exec.approvals.get", "ExecApprovalsSnapshot"],
  ["exec.approvals.node.get", "ExecApprovalsNodeSnapshot", ({ nodeId }) => ({ nodeId })],
  ["logs.tail", "LogsTailResult"],
  ["models.list", "ModelsListResult"],
  ["question.list", "QuestionListResult"],
  ["sessions.describe", "SessionRow", () => ({ key: "main" }), "session"],
  ["sessions.list", "SessionRow", () => ({ includeDerivedTitles: true }), "sessions"],
  ["sessions.resolve", "SessionsResolveResult", () => ({ key: "main" })],
  ["sessions.resolve", "SessionsResolveResult", () => ({ key: "agent:main:none", allowMissing: true })],
  ["sessions.viewers.set", "SessionsViewerPresenceSetResult", () => ({ sessionKeys: ["main"] })],
  ["chat.history", "SessionRow", () => ({ sessionKey: "main" }), "sessionInfo"],
  ["chat.startup", "SessionRow", () => ({ sessionKey: "main" }), "sessionInfo"],
  ["chat.metadata", "ModelsListResult"],
  ["chat.metadata", "CommandsListResult"],
  ["cron.list", "CronJob", () => ({ includeDisabled: true }), "jobs"],
  ["skills.bins", "SkillsBinsResult"],
  ["system.info", "SystemInfoResult"],
  ["talk.config", "TalkConfigResult"],
  ["tools.catalog", "ToolsCatalogResult"],
  ["update.status", "UpdateStatusResult"],
];

const WRITES: readonly Row[] = [
  ["agents.files.set", "AgentsFilesSetResult", () => ({ agentId: "main", name: "AGENTS.md", content: "# Be brief" })],
  ["agents.create", "AgentsCreateResult", () => ({ name: "Ada", workspace: "~/ada" })],
  ["agents.update", "AgentsUpdateResult", () => ({ agentId: "ada", name: "Ada L." })],
  ["agents.delete", "AgentsDeleteResult", () => ({ agentId: "ada", deleteFiles: false })],
  ["device.token.rotate", "DeviceTokenRotateResult", ({ deviceId }) => ({ deviceId, role: "operator" })],
  ["node.event", "NodeEventResult", () => ({ event: "node.host.stats", payloadJSON: JSON.stringify(STATS) })],
  ["node.event", "NodeEventResult", () => ({ event: "exec.finished", payload: { sessionKey: "main", runId: "r" } })],
  ["sessions.create", "SessionsCreateResult", () => ({ key: "made", label: "made" })],
  ["sessions.delete", "SessionsDeleteResult", () => ({ key: "made" })],
  ["secrets.resolve", "SecretsResolveResult", () => ({ commandName: "models list", targetIds: [] })],
];

/** As a node host reports itself. */
const STATS = { cpuCount: 2, loadAverage: [0.1, 0.2, 0.3], memoryTotalBytes: 8e9, memoryFreeBytes: 4e9 };

describe("results and the schemas of the newest clients", { timeout: 120_000 }, () => {
  it("match on reads", (t) => check(t, READS));
  it("match on writes", (t) => check(t, WRITES));

  it("are there for each method that the clients need", async (t) => {
    const { client } = await fileGateway(t, "{}", { plugins: BUNDLE });
    const { methods } = client.hello.features;
    assert.deepEqual(
      NEEDED.filter((method) => !methods.includes(method)),
      [],
    );
    assert.equal(NEEDED.length, 77);
  });

  it("have a table of defined results only", () => {
    const undefinedOnes = [...READS, ...WRITES].filter(([, definition]) => !published.definitions[definition]);
    assert.deepEqual(undefinedOnes, []);
  });
});

async function check(t: TestContext, rows: readonly Row[]): Promise<void> {
  const { client, gateway } = await fileGateway(t, "{}", { plugins: [...BUNDLE, pigeon().plugin] });
  const scene = await attend({ url: gateway.url, token: gateway.auth.token, client });
  t.after(() => scene.node.close());
  await client.request("sessions.patch", { key: "main", label: "Main" });
  const wrong: string[] = [];
  for (const [method, definition, params = () => ({}), part] of rows) {
    const isOfNodes = ["node.event", "skills.bins"].includes(method);
    const result: unknown = await (isOfNodes ? scene.node : client)
      .request(method, params(scene))
      .catch((error: Error) => void wrong.push(`${method}: ${error.message}`));
    if (result === undefined) continue;
    const found = part === undefined ? [result] : [(result as Record<string, unknown>)[part]].flat();
    if (found.length === 0) wrong.push(`${method}: nothing to compare`);
    for (const part of found)
      wrong.push(...publishedViolations(definition, part).map((violation) => `${method}: ${violation}`));
  }
  assert.deepEqual(wrong, []);
}
