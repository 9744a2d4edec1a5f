/** Facts about this machine, from the operating system. */
import { hostname, networkInterfaces, platform, release } from "node:os";
import type { SelfFacts } from "./presence.ts";

const FAMILIES: Readonly<Record<string, string>> = { darwin: "Mac", linux: "Linux", win32: "Windows" };

/** @param version of the gateway */
export function thisMachine(version: string): SelfFacts {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const ip = addresses.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
  return {
    host: hostname(),
    ...(ip === undefined ? {} : { ip }),
    version,
    platform: `${platform()} ${release()}`,
    deviceFamily: FAMILIES[platform()] ?? platform(),
  };
}
