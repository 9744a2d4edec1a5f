/** `svc plugins install|update`: changes the files of this machine, or with `--url` asks that gateway to do it. */
import { type PluginsHere, pluginsHere, WrongUsage } from "@svc/cli";
import { isGatewayError } from "@svc/sdk";
import { type CommandContext, commandText } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { type PluginInstallation, plugins } from "@svc/sdk/plugins";
import { type Change, createInstaller, type Installer } from "../install/installer.ts";
import { absoluteSpec } from "../install/spec.ts";
import { installationOf } from "../install/summary.ts";
import { agreeBy, type AgreeFlags, askPerson, canAsk, describeRequest } from "./agree.ts";
import { failureTold } from "./failure-told.ts";
import { type GatewayHere, gatewayHere } from "./here.ts";
import { atGateway } from "./live.ts";

interface InstallFlags extends AgreeFlags {
  readonly url?: string;
  readonly link?: boolean;
}

/** Milliseconds that an install by a gateway may take. */
const TIMEOUT = 15 * 60_000;

/** @returns the exit code */
export async function installPlugin(spec: string, context: CommandContext): Promise<number> {
  const flags: InstallFlags = context.options;
  if (flags.url !== undefined) {
    if (flags.link) throw new WrongUsage("--link needs a directory of this machine, but --url names another gateway");
    return byGateway(context, (client, agree) =>
      client.call(plugins.install, { spec, ...(agree === undefined ? {} : { agree }) }, { timeoutMs: TIMEOUT }),
    );
  }
  return here(context, (installer) =>
    installer.install(absoluteSpec(spec, process.cwd()), { ...agreeBy(flags, context), link: flags.link ?? false }),
  );
}

/** @returns the exit code */
export async function updatePlugin(id: string, context: CommandContext): Promise<number> {
  const flags: InstallFlags = context.options;
  if (flags.url !== undefined)
    return byGateway(context, (client, agree) =>
      client.call(plugins.update, { id, ...(agree === undefined ? {} : { agree }) }, { timeoutMs: TIMEOUT }),
    );
  return here(context, (installer) => installer.update(id, agreeBy(flags, context)));
}

async function here(context: CommandContext, work: (installer: Installer) => Promise<Change>): Promise<number> {
  const { installer, gateway } = await installerHere(context);
  return failureTold(context, async () => {
    tell(installationOf(await work(installer)), gateway.wasTold, context);
    return 0;
  });
}

/** An installer for the files of this state directory. */
export async function installerHere(
  context: CommandContext,
): Promise<{ installer: Installer; gateway: GatewayHere; here: PluginsHere }> {
  const here = await pluginsHere();
  const { stateDir, home } = here.paths;
  const gateway = gatewayHere(context);
  const installer = createInstaller({
    stateDir,
    home,
    env: process.env,
    actor: "cli",
    holderOf: here.planned.holderOf,
    gateway,
    progress: (step, what) => {
      if (canAsk(context) && what !== "") context.note(`${step}: ${what}`);
    },
  });
  return { installer, gateway, here };
}

/** Details of a gateway's refusal that asks for agreement. */
interface Needed {
  readonly code?: unknown;
  readonly id?: unknown;
  readonly summary?: unknown;
  readonly agree?: unknown;
}

/** The first call shows the requested permissions, the second call agrees to them. */
async function byGateway(
  context: CommandContext,
  call: (client: GatewayClient, agree: string | undefined) => Promise<PluginInstallation>,
): Promise<number> {
  const flags: InstallFlags = context.options;
  const done = await atGateway(context, async (client) => {
    try {
      return await call(client, flags.agree);
    } catch (error) {
      const agree = await agreedTo(error, flags, context);
      if (agree === undefined) throw error;
      return call(client, agree);
    }
  });
  tell(done, true, context);
  return 0;
}

/** @returns the word that agrees, or `undefined` without an agreement */
async function agreedTo(error: unknown, { yes }: InstallFlags, context: CommandContext): Promise<string | undefined> {
  if (!isGatewayError(error)) return undefined;
  const { code, id, summary, agree } = (error.details ?? {}) as Needed;
  if (code !== "AGREEMENT_NEEDED" || typeof agree !== "string" || !Array.isArray(summary)) return undefined;
  if (yes) return agree;
  const text = describeRequest({
    id: String(id),
    name: String(id),
    version: "",
    summary: summary.map(String),
    isUpdate: false,
  });
  return canAsk(context) && (await askPerson(text)) ? agree : undefined;
}

function tell(done: PluginInstallation, wasTold: boolean, context: CommandContext): void {
  context.print(context.json ? done : describeInstallation(done, wasTold));
}

/** Pure. @param wasTold a running gateway applied the change */
export function describeInstallation(done: PluginInstallation, wasTold: boolean): string {
  const { id, name, version, source, spec, previousVersion, changed, state, reason } = done;
  if (!changed) return `${id} ${version} is already installed from ${spec}.`;
  const before = previousVersion === undefined ? "" : `; the previous version ${previousVersion} is kept`;
  const how =
    source === "link"
      ? `Linked ${id} ${version} to ${spec}: used in place, not copied and not sealed${before}.\nSaving a file does not reload it; run: svc plugins reload ${id}. In a separate gateway, ${commandText(["svc", "dev", spec])} reloads it on each save.`
      : `Installed ${id} ${version} (${name}, from ${spec})${before}.`;
  if (!wasTold) return `${how}\nNo gateway is running; the next start loads the plugin: svc gateway run`;
  if (state === undefined) return `${how}\nNothing changes in the running gateway: svc plugins why ${id}`;
  const why = state === "active" ? "" : `${reason === undefined ? "" : `: ${reason}`}\nNext: svc plugins why ${id}`;
  return `${how}\nState in the running gateway: ${state}${why}`;
}
