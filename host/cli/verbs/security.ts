/** Wiring of `svc security ...`. */
import { examples, JSON_OPTION, type Wiring, withTarget } from "../verb.ts";

export function addSecurityVerbs({ program, output, act }: Wiring): void {
  const security = program.command("security").description("How safe this installation is");
  withTarget(security.command("audit"))
    .description("What is unsafe, why, and the command that mends it. Exits 1 with a critical finding")
    .option("--fix", "mend file modes, and nothing else; svc doctor --undo takes it back")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc security audit", "svc security audit --fix", "svc security audit --json"))
    .action((flags: Readonly<Record<string, unknown>>) =>
      act(async () => {
        const { verbContext } = await import("../plugin-verbs.ts");
        return (await import("../audit/audit.ts")).audit(verbContext([], flags, output));
      }),
    );
}
