/** Wiring of `svc gateway install|uninstall|drain|start|stop|restart`. */
import type { CommandContext } from "@svc/sdk/cli";
import type { Command } from "commander";
import { examples, JSON_OPTION, type Wiring } from "../verb.ts";

type Service = typeof import("../service/service.ts");

/** @param gateway the command `svc gateway` */
export function addServiceVerbs(gateway: Command, { output, act }: Omit<Wiring, "program">): void {
  const add = (
    name: string,
    summary: string,
    lines: readonly string[],
    run: (service: Service, context: CommandContext) => Promise<number>,
  ) =>
    gateway
      .command(name)
      .description(summary)
      .option(...JSON_OPTION)
      .addHelpText("after", examples(...lines))
      .action((flags: Readonly<Record<string, unknown>>) =>
        act(async () => {
          const { verbContext } = await import("../plugin-verbs.ts");
          return run(await import("../service/service.ts"), verbContext([], flags, output));
        }),
      );
  const dryRun = ["--dry-run", "show what would be written and done, without doing it"] as const;
  add(
    "install",
    "Install the gateway as a service of this user and start it",
    ["svc gateway install --dry-run", "SVC_GATEWAY_PORT=19001 svc gateway install"],
    (service, context) => service.install(context),
  ).option(...dryRun);
  add("uninstall", "Remove the service; state and configuration stay", ["svc gateway uninstall"], (service, context) =>
    service.uninstall(context),
  ).option(...dryRun);
  add(
    "drain",
    "Stop the gateway while other gateways on its database go on: clients move to them one after the other",
    ["svc gateway drain"],
    async (_service, context) => (await import("../service/drain.ts")).drain(context),
  );
  for (const action of ["start", "stop", "restart"] as const)
    add(
      action,
      `${action.charAt(0).toUpperCase()}${action.slice(1)} the service${action === "stop" ? ", or the gateway running on this state directory" : ""}`,
      [`svc gateway ${action}`],
      (service, context) => service.act(action, context),
    );
}
