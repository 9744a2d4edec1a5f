/** The browser in which tests look at pages of the gateway. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** Chromium without windows of its own, which take more than half of its time; where it is not installed, Chromium itself. */
const PROGRAMS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

/** `SVC_CHROMIUM` names another program. Names below `.example` are this machine. */
export function launchBrowser(): Promise<Browser> {
  const executablePath = process.env["SVC_CHROMIUM"] ?? PROGRAMS.find(existsSync);
  return chromium.launch({
    ...(executablePath === undefined ? {} : { executablePath }),
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP *.example 127.0.0.1"],
  });
}
