/** Guided setup in typed steps, over RPC and in a terminal. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({ id: "wizard", api: "^1.0.0", setup: () => undefined });
