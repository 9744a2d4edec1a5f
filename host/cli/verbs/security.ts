/** Wiring of `svc security ...`. */
import { examples, JSON_OPTION, type Wiring, withTarget } from "../verb.ts";

export function addSecurityVerbs({ program, output, act }: Wiring): void {
  const security = program.command("security").description("Check the security of this installation");
  withTarget(security.command("audit"))
    .description("List what is unsafe, why, and the command that fixes it. Exits with 1 on a critical finding")
    .option("--fix", "fix file modes and nothing else; svc doctor --undo reverts it")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc security audit", "svc security audit --fix", "svc security audit --json"))
    .action((flags: Readonly<Record<string, unknown>>) =>
      act(async () => {
        const { verbContext } = await import("../plugin-verbs.ts");
        return (await import("../audit/audit.ts")).audit(verbContext([], flags, output));
      }),
    );
}
