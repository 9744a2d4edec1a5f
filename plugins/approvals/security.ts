/** Security checks of the policy file: commands that run without an approval. */
import { bounded, openExecPolicy, rulesFor } from "@svc/kit/exec";
import type { ExecPolicyFile } from "@svc/sdk/approvals";
import { commandText, configAt, defineSecurityChecks, type SecurityHit, type SecurityView } from "@svc/sdk/cli";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { deadEntries } from "./cli-allowlist.ts";

const FILE = "exec-approvals.json";

export default defineSecurityChecks([
  {
    id: "approvals.unasked",
    severity: "critical",
    why: "Anyone who can influence the agent, including a web page, can run any command as you.",
    find: (view) =>
      ofAgents(view, (policy, agent) => {
        if (!hasRules(policy, agent)) return [];
        const { security, ask } = rulesFor(policy, agent);
        if (security !== "full" || ask !== "off" || isNarrowed(view)) return [];
        return [hit(agent, "runs every command without asking anybody", ["security", "allowlist", "--ask", "on-miss"])];
      }),
  },
  {
    id: "approvals.unanswered",
    severity: "warning",
    why: "Nobody has to agree: a command runs when nobody answers.",
    find: (view) =>
      ofAgents(view, (policy, agent) => {
        if (!hasRules(policy, agent)) return [];
        const { security, ask, askFallback } = rulesFor(policy, agent);
        if (security === "deny" || ask === "off" || askFallback !== "full") return [];
        return [hit(agent, "runs a command when nobody answers", ["security", security, "--fallback", "deny"])];
      }),
  },
  {
    id: "approvals.any-arguments",
    severity: "warning",
    why: "The arguments of most programs can make them run another program, or write any file.",
    find: (view) =>
      ofAgents(view, (policy, agent) =>
        (policy.agents?.[agent]?.allowlist ?? [])
          .filter(({ anyArguments, args }) => anyArguments === true && !args)
          .map(({ pattern }) =>
            hit(agent, `runs ${bounded(pattern, 200)} with any arguments`, [
              "allowlist",
              "remove",
              pattern,
              "--any-arguments",
            ]),
          ),
      ),
  },
  {
    id: "approvals.dead-entries",
    severity: "info",
    why: "A reader of the list believes that these programs may run.",
    find: (view) =>
      ofAgents(view, (policy, agent) =>
        deadEntries({ ...policy, agents: { [agent]: policy.agents?.[agent] ?? {} } }).flatMap(([, patterns]) =>
          patterns.map((pattern) =>
            hit(agent, `has an entry that allows nothing: ${bounded(pattern, 200)}`, ["allowlist", "remove", pattern]),
          ),
        ),
      ),
  },
]);

/** Checks each agent in the file, and `*` for all others. @throws GatewayError `UNAVAILABLE`: the file cannot be used */
async function ofAgents(
  { stateDir }: SecurityView,
  find: (policy: ExecPolicyFile, agentId: string) => readonly SecurityHit[],
): Promise<readonly SecurityHit[]> {
  if (!existsSync(join(stateDir, FILE))) return []; // all is denied
  const { file } = await openExecPolicy(stateDir).get(); // the file exists, so none is created
  return [...new Set(["*", ...Object.keys(file.agents ?? {})])].flatMap((agentId) => find(file, agentId));
}

/** Agents without rules of their own have those of `*`, which are checked once. */
function hasRules({ agents = {} }: ExecPolicyFile, agentId: string): boolean {
  const { security, ask, askFallback } = agents[agentId] ?? {};
  return agentId === "*" || [security, ask, askFallback].some((word) => word !== undefined);
}

/** Whether `tools.exec` is stricter than the policy file. */
function isNarrowed({ config }: SecurityView): boolean {
  const security = configAt(config, "tools.exec.security");
  const ask = configAt(config, "tools.exec.ask");
  return security === "deny" || security === "allowlist" || ask === "on-miss" || ask === "always";
}

function hit(agentId: string, what: string, words: readonly string[]): SecurityHit {
  const who = agentId === "*" ? "An agent without rules of its own" : `Agent ${bounded(agentId, 60)}`;
  const fix = commandText(["svc", "approvals", ...words, "--agent", agentId]);
  return { about: `${FILE}: ${bounded(agentId, 60)}`, message: `${who} ${what}.`, fix };
}
