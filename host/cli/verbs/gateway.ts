/** Wiring of `svc gateway ...`. */
import { DEFAULT_DRAIN } from "../drain.ts";
import type { RunFlags } from "../gateway-run.ts";
import { examples, JSON_OPTION, type Wiring, withTarget } from "../verb.ts";
import { addServiceVerbs } from "./service.ts";

/** Options of a gateway in the foreground; `RunFlags` holds their values. */
export const RUN_OPTIONS: readonly { readonly flags: string; readonly description: string }[] = [
  {
    flags: "--port <port>",
    description: "port to listen on; 0 picks a free one (default: SVC_GATEWAY_PORT, gateway.port, 18789)",
  },
  { flags: "--log-level <level>", description: "trace, debug, info, warn, error, fatal or silent" },
  { flags: "--auth <mode>", description: "token, password, none or trusted-proxy (default: gateway.auth.mode)" },
  {
    flags: "--token <token>",
    description: "overrides gateway.auth.token; visible in the process list, prefer SVC_GATEWAY_TOKEN",
  },
  {
    flags: "--password <password>",
    description: "overrides gateway.auth.password; visible in the process list, prefer SVC_GATEWAY_PASSWORD",
  },
];

export function addGatewayVerbs({ program, output, act }: Wiring): void {
  const gateway = program.command("gateway").description("Run, control and call a gateway");
  const run = gateway.command("run").description("Run the gateway in this terminal");
  for (const { flags, description } of RUN_OPTIONS) run.option(flags, description);
  run
    .option(
      "--drain <duration>",
      `how long a stop or restart waits for work in flight, e.g. 90s, 10m, 1h; 0 does not wait (default: ${DEFAULT_DRAIN})`,
    )
    .option("--last-good", "start with the last working configuration if the file is refused; for services")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      "\nSIGUSR1 restarts the gateway within the process. SIGINT and SIGTERM stop it; a second signal skips the wait.",
    )
    .addHelpText("after", examples("svc gateway run", "svc gateway run --port 19001"))
    .action((flags: RunFlags) => act(async () => (await import("../gateway-run.ts")).runGateway(flags, output)));
  gateway
    .command("token")
    .description("Print the secret clients connect with; anyone who has it has access")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc gateway token"))
    .action(() => act(async () => (await import("../gateway-token.ts")).printToken(output)));
  withTarget(gateway.command("call <method>"))
    .description("Call any method of a running gateway")
    .option("--params <json>", "parameters of the method")
    .option("--timeout <ms>", "milliseconds to wait; 0 for no limit (default: 30000)")
    .option("--final", "wait for the second response of a method that responds twice")
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      examples("svc gateway call config.get", `svc gateway call some.method --params '{"limit": 5}' --json`),
    )
    .action((method: string, flags: object) =>
      act(async () => (await import("../gateway-call.ts")).callMethod(method, flags, output)),
    );
  withTarget(gateway.command("methods"))
    .description("List the methods of a running gateway")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc gateway methods", "svc gateway methods --json"))
    .action((flags: object) => act(async () => (await import("../gateway-call.ts")).listMethods(flags, output)));
  addServiceVerbs(gateway, { output, act });
}
