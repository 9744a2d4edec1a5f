/** The plugin in a gateway, and runs of its accounts. */
import type { TestContext } from "node:test";
import { channelScene } from "../channels/channel-scene.ts";

export type { Running } from "../channels/channel-scene.ts";

/** Milliseconds after which a group of tests has failed. */
export const SUITE_MS = 120_000;

export const scene = (t: TestContext, settings: object) => channelScene(t, "signal", settings);
