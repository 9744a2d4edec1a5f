/** `svc gateway health|status|probe`: queries a running gateway. */
import { isGatewayError, type Method, type ResultOf } from "@svc/sdk";
import { type CommandContext, defineCommands, show, showFindings, withGateway } from "@svc/sdk/cli";
import { config } from "@svc/sdk/config";
import { detailsCode } from "@svc/sdk/errors";
import { gateways, health } from "@svc/sdk/health";
import { gatewayFindings, listLines } from "./gateways-report.ts";
import { healthLines, type ProbeReport, probeLines, statusLines } from "./report.ts";

/** The only scope the probe needs. */
const READ = ["operator.read"];

/** Choice: milliseconds that a probe waits for the connection, and again for each answer. */
const PROBE_TIMEOUT_MS = 3_000;

type Client = Awaited<ReturnType<CommandContext["connect"]>>;

export default defineCommands([
  {
    name: "gateway health",
    summary: "Show the health of a running gateway",
    examples: ["svc gateway health", "svc gateway health --json"],
    run: (context) =>
      withGateway(context, READ, async (client) => show(context, await client.call(health.check, {}), healthLines)),
  },
  {
    name: "gateway status",
    summary: "Show sessions, agents and heartbeats of a running gateway",
    examples: ["svc gateway status", "svc gateway status --json"],
    run: (context) =>
      withGateway(context, ["operator.admin"], async (client) =>
        show(context, await client.call(health.status, {}), statusLines),
      ),
  },
  {
    name: "gateways list",
    summary: "List the gateways on one database, with their load and what each of them owns",
    examples: ["svc gateways list", "svc gateways list --json"],
    run: (context) =>
      withGateway(context, READ, async (client) => show(context, await client.call(gateways.list, {}), listLines)),
  },
  {
    name: "gateways doctor",
    summary: "Check clocks, leases and configurations of the gateways on one database",
    options: [{ flags: "--running", description: "query the running gateway of the state directory" }],
    examples: ["svc gateways doctor --running", "svc gateways doctor --running --json"],
    async run(context) {
      if (context.options["running"] !== true) {
        show(context, { findings: [] }, () => ["Gateways are checked only by a running one."]);
        return 0;
      }
      const all = await withGateway(context, READ, (client) => client.call(gateways.list, {}));
      return showFindings(context, gatewayFindings(all, Date.now()));
    },
  },
  {
    name: "gateway probe",
    summary: "Check that this machine can reach and use the gateway",
    examples: ["svc gateway probe", "svc gateway probe --json"],
    async run(context) {
      const report = await probe(context);
      show(context, report, probeLines);
      return report.ok ? 0 : 1;
    },
  },
]);

/** The methods every existing client of this protocol calls for a probe. Spec: protocol/clients.md §1. */
const PROBED: readonly Method[] = [health.check, health.status, health.presence, config.get];

/** Connects with read scope and calls the four methods at once. Errors of the gateway become part of the report. */
async function probe(context: CommandContext): Promise<ProbeReport> {
  const began = performance.now();
  let client: Client;
  try {
    client = await context.connect({ scopes: READ, timeoutMs: PROBE_TIMEOUT_MS });
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    const [reason = "", step] = error.message.split("\nNext: "); // except for TLS, the report has its own next step
    const next = detailsCode(error)?.startsWith("TLS_") ? step : undefined;
    return { ok: false, reachable: false, error: reason, code: error.code, ...(next === undefined ? {} : { next }) };
  }
  try {
    const answers = await Promise.allSettled(
      PROBED.map(({ name }) => client.request(name, {}, { timeoutMs: PROBE_TIMEOUT_MS })),
    );
    const checks = answers.map((answer, index) => {
      const method = PROBED[index]?.name ?? "";
      const error = answer.status === "rejected" ? (answer.reason as Error).message : problemIn(method, answer.value); // the client rejects with errors only
      return { method, ok: error === undefined, ...(error === undefined ? {} : { error }) };
    });
    return {
      ok: checks.every(({ ok }) => ok),
      reachable: true,
      latencyMs: Math.round(performance.now() - began),
      version: client.hello.server.version,
      checks,
    };
  } finally {
    await client.close();
  }
}

/** The problem that a response reports. A gateway of another version may list no plugins. */
function problemIn(method: string, answer: unknown): string | undefined {
  const { ok, missingPlugins = [] } = Object(answer) as Partial<ResultOf<typeof health.check>>;
  if (method !== health.check.name || ok !== false) return undefined;
  return `not ok; not running: ${missingPlugins.join(", ") || "unknown"}`;
}
