/** Which callers may call which methods, from the specification and the choices, independent of the contracts. */
import { type GatewayError, type Scope, SCOPES } from "@svc/sdk";

/** Spec: protocol/authorization.md §3, rows of methods that exist here. */
const SPECIFIED: Readonly<Record<Scope, string>> = {
  "operator.read":
    "status doctor.memory.status models.list agents.list agent.identity.get agents.files.list agents.files.get sessions.list sessions.preview " +
    "sessions.resolve sessions.usage sessions.usage.timeseries sessions.usage.logs gateways.list system-presence last-heartbeat node.list " +
    "node.describe chat.history config.get channels.status tools.catalog cron.list cron.status cron.runs " +
    "logs.tail usage.status usage.cost tts.status tts.providers skills.status talk.config voicewake.get",
  "operator.write":
    "agent agent.wait node.invoke chat.send chat.abort send poll wake tts.enable tts.disable tts.convert tts.setProvider " +
    "talk.mode voicewake.set browser.request push.test",
  "operator.approvals": "exec.approval.request exec.approval.waitDecision exec.approval.resolve",
  "operator.pairing":
    "node.pair.request node.pair.list node.pair.approve node.pair.reject node.pair.verify node.rename device.pair.list " +
    "device.pair.approve device.pair.reject device.pair.remove device.token.rotate device.token.revoke",
  "operator.admin":
    "agents.create agents.update agents.delete agents.files.set secrets.reload secrets.resolve sessions.patch " +
    "sessions.reset sessions.delete sessions.compact chat.inject exec.approvals.get exec.approvals.set " +
    "exec.approvals.node.get exec.approvals.node.set channels.logout web.login.start web.login.wait config.set config.patch config.apply config.move config.schema " +
    "system-event set-heartbeats update.run cron.add cron.update cron.remove cron.run skills.install skills.update " +
    "wizard.start wizard.next wizard.cancel wizard.status",
};
/** Spec: §2. Nodes may call these and `health`; operators, admins included, none of them. */
export const NODE_METHODS: readonly string[] = [
  "node.invoke.result",
  "node.event",
  "node.canvas.capability.refresh",
  "skills.bins",
];
/** Choice: methods that the specification does not contain. */
const OURS: Readonly<Record<Scope, string>> = {
  "operator.read":
    "agents.files.log agents.files.diff memory.status memory.search models.status models.authStatus models.known panel.pages panel.cards plugins.inspect commands.list chat.startup chat.metadata sessions.subscribe sessions.unsubscribe sessions.messages.subscribe sessions.messages.unsubscribe agents.prompt.preview memory.files memory.read " +
    "sessions.describe sessions.viewers.set plugins.list storage.usage files.status update.check webhooks.list webhooks.check webhooks.runs webhooks.run cron.preview cron.get question.list system.info config.schema.lookup ",
  "operator.write": "message.action media.describe media.transcribe models.test webhooks.try sessions.create",
  "operator.approvals": "exec.approval.list plugin.approval.list",
  "operator.pairing":
    "channels.pairing.list channels.pairing.approve channels.pairing.remove device.pair.invite device.pair.rename",
  "operator.admin":
    "update.status agents.files.restore memory.index memory.write plugins.reload plugins.align plugins.install plugins.update " +
    "plugins.remove plugins.enable plugins.disable plugins.doctor exec.approvals.grants exec.approvals.forget " +
    "models.scan secrets.list cron.cancel storage.clean webhooks.replay webhooks.enable webhooks.disable webhooks.init " +
    "channels.login.start channels.login.next channels.login.cancel skills.add skills.remove " +
    "import.kinds import.take import.give",
};

/** By method; all other methods are for admins. */
export const required = new Map<string, Scope | "none">([["health", "none"]]);
for (const [scope, names] of [...Object.entries(OURS), ...Object.entries(SPECIFIED)])
  for (const name of names.split(" ").filter(Boolean)) required.set(name, scope as Scope);

/** Admin covers all, write covers read, every other scope only itself. Spec: authorization.md §1. */
function covers(held: readonly string[], wanted: Scope | "none"): boolean {
  if (wanted === "none" || held.includes("operator.admin") || held.includes(wanted)) return true;
  return wanted === "operator.read" && held.includes("operator.write");
}

/** Scopes a connection requests. */
export const SETS: readonly (readonly string[])[] = [
  [],
  ...SCOPES.map((scope) => [scope]),
  ["operator.read", "operator.approvals"],
  ["operator.pairing", "operator.write"],
  ["operator", "*", "operator.*", "OPERATOR.ADMIN", "operator.admin "],
  ["admin"],
];

/** Outcome of a call with these params: only whether it passed the scope check. */
export function verdict(thrown: unknown): string {
  const { code, message } = thrown as GatewayError;
  return /^(missing scope|unauthorized role)/.test(message) ? `${code} ${message}` : "past the scope";
}

/** The error that an operator with these scopes gets. */
export function expected(name: string, held: readonly string[]): string {
  if (NODE_METHODS.includes(name)) return "INVALID_REQUEST unauthorized role: operator";
  const wanted = required.get(name) ?? "operator.admin";
  const scopes = held.map((scope) => (scope === "admin" ? "operator.admin" : scope));
  return covers(scopes, wanted) ? "past the scope" : `INVALID_REQUEST missing scope: ${wanted}`;
}
