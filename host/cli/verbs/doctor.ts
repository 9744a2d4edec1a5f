/** Wiring of `svc doctor`. */
import { examples, JSON_OPTION, type Wiring, withTarget } from "../verb.ts";

export function addDoctorVerb({ program, output, act }: Wiring): void {
  withTarget(program.command("doctor"))
    .description("Find problems of this gateway, and repair them with --fix")
    .option("--fix", "repair what can be repaired; the originals are kept")
    .option("--undo <id>", "undo a repair")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc doctor", "svc doctor --fix", "svc doctor --undo 20260131T120000-a1b2c3"))
    .action((flags: Readonly<Record<string, unknown>>) =>
      act(async () => {
        const { verbContext } = await import("../plugin-verbs.ts");
        return (await import("../doctor/doctor.ts")).doctor(verbContext([], flags, output));
      }),
    );
}
