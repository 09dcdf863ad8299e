/** Loads the page on which people log in to the board of a server: one HTML file without any other. */
export async function loadLoginPage(): Promise<string> {
  return (await import('./view/login/page.html')).default;
}
