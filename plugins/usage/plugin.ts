import { definePlugin } from "@svc/sdk";

export default definePlugin({ id: "usage", api: "^1.0.0", setup() {} });
