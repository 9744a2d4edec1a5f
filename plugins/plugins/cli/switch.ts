/** `svc plugins enable|disable <id>`: sets the configuration key `plugins.entries.<id>.enabled`. */
import { pluginsHere, refuse, setConfig } from "@svc/cli";
import type { CommandContext } from "@svc/sdk/cli";
import { plugins } from "@svc/sdk/plugins";
import { idsOf } from "./ids.ts";
import { atGateway } from "./live.ts";

/** @returns the exit code */
export async function switchPlugin(id: string, enabled: boolean, context: CommandContext): Promise<number> {
  if (context.options["url"] !== undefined) {
    const done = await atGateway(context, (client) => client.call(enabled ? plugins.enable : plugins.disable, { id }));
    const why = done.reason === undefined ? "" : `: ${done.reason}`;
    context.print(context.json ? done : `${id} is ${done.state}${why}`);
    return 0;
  }
  const { sources, bundle } = await pluginsHere();
  const ids = await idsOf([...sources, ...bundle]);
  if (!ids.has(id)) return refuse(`no plugin "${id}" here\nNext: svc plugins list`, context);
  return setConfig(`plugins.entries.${id}.enabled`, String(enabled), {}, context);
}
