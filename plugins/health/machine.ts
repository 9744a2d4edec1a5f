/** Facts about this machine, from the operating system. */
import { hostname, networkInterfaces, platform, release } from "node:os";
import type { SelfFacts } from "./presence.ts";

const FAMILIES: Readonly<Record<string, string>> = { darwin: "Mac", linux: "Linux", win32: "Windows" };

/** An IPv4 address that other machines can reach; `undefined`: there is none. */
export function lanAddress(): string | undefined {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return addresses.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
}

/** @param version of the gateway */
export function thisMachine(version: string): SelfFacts {
  const ip = lanAddress();
  return {
    host: hostname(),
    ...(ip === undefined ? {} : { ip }),
    version,
    platform: `${platform()} ${release()}`,
    deviceFamily: FAMILIES[platform()] ?? platform(),
  };
}
