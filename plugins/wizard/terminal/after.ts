/** After the setup: waits for a restart that it needs, and decides how a gateway goes on that this command started. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { untilAborted } from "@svc/sdk";
import { type CommandContext, visible } from "@svc/sdk/cli";
import { config } from "@svc/sdk/config";
import { type Answers, Ended, printJson } from "./answers.ts";
import { connected, type OpenGateway } from "./gateway.ts";
import { isPerson, type OnboardFlags } from "./flags.ts";

export interface AfterOptions {
  readonly context: CommandContext;
  readonly gateway: OpenGateway;
  readonly flags: OnboardFlags;
  readonly answers: Answers;
  readonly signal: AbortSignal;
}

const QUESTION = {
  type: "select",
  title: "Service",
  message: "How does the gateway run from now on?",
  options: [
    { value: "service", label: "As a service of this user: it starts at login and after a failure" },
    { value: "here", label: "In this terminal, until Ctrl-C" },
    { value: "stop", label: "Not now: stop it" },
  ],
} as const;
type Way = (typeof QUESTION.options)[number]["value"];

/** @returns the exit code */
export async function afterSetup(options: AfterOptions): Promise<number> {
  const { context, gateway, signal } = options;
  const path = await settled(context, gateway, signal);
  const say = (line: string) => void (context.json || context.print(line));
  say(`\nThe setup is complete. Configuration: ${visible(path)}`);
  const way = await wayOf(options);
  if (context.json) printJson(context, { done: true, status: "done", config: path, gateway: way ?? "running" });
  if (way === "here") {
    say("The gateway runs. In another terminal: svc chat. Ctrl-C stops it.");
    await untilAborted(gateway.own?.ended ?? Promise.resolve(), signal).catch(() => undefined); // Ctrl-C
    return 0;
  }
  if (way !== "service") {
    say(way === "stop" ? "The gateway is stopped. Start it: svc gateway run" : "Talk to the agent: svc chat");
    return 0;
  }
  await gateway.close();
  const code = await installService(context);
  if (code !== 0) return code;
  await (await connected(context, signal)).close();
  say("The gateway runs as a service. Talk to the agent: svc chat");
  return 0;
}

/** @returns `undefined` for a gateway that ran before, which goes on as it did */
async function wayOf({ context, gateway, flags, answers }: AfterOptions): Promise<Way | undefined> {
  if (flags.installService === true) return "service";
  if (!gateway.own) return undefined;
  if (!isPerson(context, flags)) return "stop";
  const way = await answers({ ...QUESTION, options: [...QUESTION.options] }).catch((error: unknown) => {
    if (error instanceof Ended) return "stop";
    throw error;
  });
  return way as Way; // an option
}

/** Waits for the restart that the setup scheduled. @returns the path of the configuration file */
async function settled(context: CommandContext, { client }: OpenGateway, signal: AbortSignal): Promise<string> {
  const { path, running } = await client.call(config.get, {});
  if (running?.restart?.delayMs === undefined) return path;
  context.note(
    `The gateway restarts, so that these changes take effect: ${running.restart.paths.map(visible).join(", ")}`,
  );
  await untilAborted(new Promise<void>((gone) => client.onClose(() => gone())), signal);
  await (await connected(context, signal)).close();
  return path;
}

/** @returns its exit code */
async function installService({ json }: CommandContext): Promise<number> {
  const words = [...process.execArgv, process.argv[1] ?? "", "gateway", "install", ...(json ? ["--json"] : [])];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "inherit", "inherit"] });
  const [code] = (await once(child, "close")) as [number | null];
  return code ?? 1;
}
