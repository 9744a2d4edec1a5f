/** `svc secrets ...`: lists references and reloads them. */
import { defineCommands, show, withGateway } from "@svc/sdk/cli";
import { secrets } from "@svc/sdk/secrets";
import { listLines, reloadLines } from "./report.ts";

const ADMIN = ["operator.admin"];

/** Milliseconds a reload may take: above the deadline of the slowest possible provider. */
const RELOAD_TIMEOUT_MS = 180_000;

/** States in which using the secret is refused. */
const BAD: ReadonlySet<string> = new Set(["missing", "failed"]);

export default defineCommands([
  {
    name: "secrets list",
    summary: "List the secret references of the configuration and whether they resolve; never a value",
    examples: ["svc secrets list", "svc secrets list --json"],
    run: (context) =>
      withGateway(context, ADMIN, async (client) => {
        const listed = await client.call(secrets.list, {});
        show(context, listed, listLines);
        return listed.secrets.some(({ state }) => BAD.has(state)) ? 1 : 0;
      }),
  },
  {
    name: "secrets reload",
    summary: "Resolve all secret references again",
    examples: ["svc secrets reload"],
    run: (context) =>
      withGateway(context, ADMIN, async (client) =>
        show(context, await client.call(secrets.reload, {}, { timeoutMs: RELOAD_TIMEOUT_MS }), reloadLines),
      ),
  },
]);
