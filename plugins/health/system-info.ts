/** The result of `system.info`: facts about the machine and the process, from the operating system. */
import { statfs } from "node:fs/promises";
import { arch, cpus, freemem, hostname, loadavg, platform, release, totalmem, type, version } from "node:os";
import type { ResultOf } from "@svc/sdk";
import type { GatewayInfo } from "@svc/sdk/gateway";
import type { health } from "@svc/sdk/health";
import { lanAddress } from "./machine.ts";

type SystemInfo = ResultOf<typeof health.info>;

/** @param options.full show the path of the state @param options.now epoch ms */
export async function systemInfo(
  { stateDir, url, startedAt }: Pick<GatewayInfo, "stateDir" | "url" | "startedAt">,
  { full, now }: { readonly full: boolean; readonly now: number },
): Promise<SystemInfo> {
  const name = hostname();
  const processors = cpus();
  const model = processors[0]?.model.trim();
  const ip = lanAddress();
  return {
    machineName: name.replace(/\.local$/u, ""),
    hostname: name,
    platform: platform(),
    release: release(),
    arch: arch(),
    osLabel: `${type()} ${release()} (${version()})`,
    ...(ip === undefined ? {} : { lanAddress: ip }),
    ...(url === undefined ? {} : { port: Number(new URL(url).port) }),
    nodeVersion: process.version,
    pid: process.pid,
    uptimeMs: Math.max(0, now - startedAt),
    cpuCount: processors.length,
    ...(model ? { cpuModel: model } : {}),
    ...(platform() === "win32" ? {} : { loadAverage: loadavg() }),
    memoryTotalBytes: totalmem(),
    memoryFreeBytes: freemem(),
    ...(await disk(stateDir)),
    ...(full ? { diskPath: stateDir } : {}),
  };
}

/** Nothing where the system does not say. */
async function disk(path: string): Promise<Pick<SystemInfo, "diskTotalBytes" | "diskAvailableBytes">> {
  const found = await statfs(path).catch(() => undefined);
  return found ? { diskTotalBytes: found.blocks * found.bsize, diskAvailableBytes: found.bavail * found.bsize } : {};
}
