/** Finds the Chromium of this machine. */
import { findOnPath, ownPlaces } from "@svc/kit/exec";
import { unavailable } from "@svc/sdk";
import { access, constants } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

const NAMES = [
  "chromium",
  "chromium-browser",
  "google-chrome-stable",
  "google-chrome",
  "chrome",
  "microsoft-edge-stable",
  "brave-browser",
];

/** Places outside of `PATH`. */
const PLACES: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: ["/usr/lib/chromium/chromium", "/snap/bin/chromium", "/opt/google/chrome/chrome"],
  darwin: [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    join(homedir(), "Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
  ],
  win32: [
    "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
    "C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe",
    "C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe",
  ],
};

/**
 * @param configured `browser.executablePath`
 * @throws GatewayError `UNAVAILABLE` naming what to install or set
 */
export async function findChromium(configured: string | undefined): Promise<string> {
  if (configured !== undefined) {
    if (isAbsolute(configured) && (await isProgram(configured))) return configured;
    return unavailable(`browser.executablePath is no program: ${configured}; set the absolute path of Chromium`);
  }
  for (const name of NAMES) {
    const found = await findOnPath(name, ownPlaces());
    if (found !== undefined) return found;
  }
  for (const place of PLACES[process.platform] ?? []) if (await isProgram(place)) return place;
  return unavailable(
    "this machine has no Chromium; install one (Debian: apt-get install chromium), or set browser.executablePath, or browser.cdpUrl for a browser elsewhere",
  );
}

async function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
