/** Security checks of the policy file: which commands run without anybody being asked. */
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
    why: "Whoever makes the agent say so, a web page included, runs any command as you.",
    find: (view) =>
      ofAgents(view, (policy, agent) => {
        if (!hasRules(policy, agent)) return [];
        const { security, ask } = rulesFor(policy, agent);
        if (security !== "full" || ask !== "off" || isNarrowed(view)) return [];
        return [hit(agent, "runs every command and asks nobody", ["security", "allowlist", "--ask", "on-miss"])];
      }),
  },
  {
    id: "approvals.unanswered",
    severity: "warning",
    why: "Nobody has to agree: not answering is enough.",
    find: (view) =>
      ofAgents(view, (policy, agent) => {
        if (!hasRules(policy, agent)) return [];
        const { security, ask, askFallback } = rulesFor(policy, agent);
        if (security === "deny" || ask === "off" || askFallback !== "full") return [];
        return [hit(agent, "runs a command that nobody answers for", ["security", security, "--fallback", "deny"])];
      }),
  },
  {
    id: "approvals.any-arguments",
    severity: "warning",
    why: "Most programs can be told by their arguments to run another one, or to write any file.",
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
    why: "Whoever reads the list believes that these programs run.",
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

/** One agent after the other, `*` included, and those that no rule names as `*`. @throws GatewayError `UNAVAILABLE` the file cannot be used */
async function ofAgents(
  { stateDir }: SecurityView,
  find: (policy: ExecPolicyFile, agentId: string) => readonly SecurityHit[],
): Promise<readonly SecurityHit[]> {
  if (!existsSync(join(stateDir, FILE))) return []; // all is denied
  const { file } = await openExecPolicy(stateDir).get(); // it is there, so nothing is made
  return [...new Set(["*", ...Object.keys(file.agents ?? {})])].flatMap((agentId) => find(file, agentId));
}

/** Others have the rules of `*`, which are judged once. */
function hasRules({ agents = {} }: ExecPolicyFile, agentId: string): boolean {
  const { security, ask, askFallback } = agents[agentId] ?? {};
  return agentId === "*" || [security, ask, askFallback].some((word) => word !== undefined);
}

/** `tools.exec` lets less through than the policy file. */
function isNarrowed({ config }: SecurityView): boolean {
  const security = configAt(config, "tools.exec.security");
  const ask = configAt(config, "tools.exec.ask");
  return security === "deny" || security === "allowlist" || ask === "on-miss" || ask === "always";
}

function hit(agentId: string, what: string, words: readonly string[]): SecurityHit {
  const who = agentId === "*" ? "An agent without rules of its own" : `Agent ${bounded(agentId, 60)}`;
  const mend = commandText(["svc", "approvals", ...words, "--agent", agentId]);
  return { about: `${FILE}: ${bounded(agentId, 60)}`, message: `${who} ${what}.`, mend };
}
