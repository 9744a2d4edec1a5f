/** `svc sandbox doctor`: which sandbox applies to the commands of each agent; `svc doctor` runs it, too. */
import { findSandbox, sandboxFindings, sandboxRules, type SandboxSubject } from "@svc/kit/exec";
import { matches, Type } from "@svc/sdk";
import { configuredValue, defineCommands, showFindings } from "@svc/sdk/cli";
import { SandboxSettings } from "@svc/sdk/tools";

const KEY = "tools.exec.sandbox";

/** The keys of `agents.list` that this command reads. */
const Listed = Type.Array(
  Type.Object({
    id: Type.String(),
    tools: Type.Optional(
      Type.Object({ exec: Type.Optional(Type.Object({ sandbox: Type.Optional(SandboxSettings) })) }),
    ),
  }),
);

export default defineCommands([
  {
    name: "sandbox doctor",
    summary: "Check the sandbox for the commands of each agent",
    options: [{ flags: "--running", description: "a gateway is running; has no effect here" }],
    examples: ["svc sandbox doctor", "svc sandbox doctor --json"],
    async run(context) {
      const subjects = agentSubjects(await configuredValue(KEY), await configuredValue("agents.list"));
      return showFindings(context, sandboxFindings(subjects, await findSandbox(), process.getuid?.() === 0));
    },
  },
]);

/** @param all value of `tools.exec.sandbox` @param listed value of `agents.list`; invalid values count as absent */
export function agentSubjects(all: unknown, listed: unknown): SandboxSubject[] {
  const common = matches(SandboxSettings, all) ? all : undefined;
  const agents = matches(Listed, listed) && listed.length > 0 ? listed : [{ id: "main" }];
  return agents.map(({ id, tools }, index) => {
    const own = tools?.exec?.sandbox;
    const key = own?.mode === undefined ? KEY : `agents.list[${index}].tools.exec.sandbox`;
    return { about: `agent ${id}`, rules: sandboxRules(common, own), key };
  });
}
