/** Converts a setting's name to the form that configuration files and output use: `baseUrl` to `base_url`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
