/** Canvas: serves the pages that nodes display. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({ id: "canvas", api: "^1.0.0", setup: () => undefined });
