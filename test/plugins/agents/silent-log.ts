import type { Logger } from "@svc/sdk";

const nothing = () => undefined;

export const silentLog: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
